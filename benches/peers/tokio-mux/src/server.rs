//! The server: a task per stream, one that reads, one that sends.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use peer_host::TokioTimer;
use ringmain_bench_harness::Producer;
use rustc_hash::FxHashMap;
use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::READ_BYTES;
use crate::frame::{self, Kind};
use crate::outbox::Outbox;

/// Accepts connections for as long as its runtime lives.
pub(crate) async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        tokio::spawn(serve_connection(socket));
    }
}

async fn serve_connection(socket: TcpStream) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let (reader, writer) = socket.into_split();
    let connection = Arc::new(Connection::default());
    let sending = Arc::clone(&connection);
    let sender = tokio::spawn(async move { sending.outbox.send_all(writer).await });
    let outcome = connection.read_all(reader).await;
    sender.abort();
    for (_, handler) in connection.handlers().drain() {
        handler.abort();
    }
    outcome
}

#[derive(Debug, Default)]
struct Connection {
    outbox: Outbox,
    handlers: Mutex<FxHashMap<u64, AbortHandle>>,
}

impl Connection {
    async fn read_all(self: &Arc<Self>, mut reader: OwnedReadHalf) -> anyhow::Result<()> {
        let mut input = BytesMut::new();
        loop {
            input.reserve(READ_BYTES);
            if reader.read_buf(&mut input).await? == 0 {
                return Ok(());
            }
            while let Some(frame) = frame::split_first(&mut input)? {
                match frame.kind {
                    Kind::Open => self.open(frame.stream, &frame.payload),
                    Kind::Cancel => self.cancel(frame.stream),
                    Kind::Item | Kind::End => anyhow::bail!("a client sent {:?}", frame.kind),
                }
            }
        }
    }

    fn open(self: &Arc<Self>, stream: u64, request: &[u8]) {
        let Some(producer) = Producer::new(request, TokioTimer) else {
            self.outbox.push(Kind::End, stream, b"");
            return;
        };
        let connection = Arc::clone(self);
        // Held over the start, so that the handler cannot end before it is listed.
        let mut handlers = self.handlers();
        let handler = tokio::spawn(async move { connection.answer(stream, producer).await });
        handlers.insert(stream, handler.abort_handle());
    }

    fn cancel(&self, stream: u64) {
        if let Some(handler) = self.handlers().remove(&stream) {
            handler.abort();
        }
    }

    async fn answer(&self, stream: u64, mut producer: Producer<TokioTimer>) {
        loop {
            let pushed = poll_fn(|cx| {
                producer
                    .poll_item(cx)
                    .map(|item| item.map(|item| self.outbox.push(Kind::Item, stream, item)))
            });
            match pushed.await {
                Some(false) => {}
                Some(true) => self.outbox.room().await,
                None => break,
            }
        }
        self.outbox.push(Kind::End, stream, b"");
        self.handlers().remove(&stream);
    }

    fn handlers(&self) -> MutexGuard<'_, FxHashMap<u64, AbortHandle>> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
