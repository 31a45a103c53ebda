//! The client: streams of one connection, each with a queue that the reading task fills.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use ringmain_bench_harness::{Caller, Failure, Items};
use rustc_hash::FxHashMap;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use crate::READ_BYTES;
use crate::frame::{self, Kind};
use crate::outbox::Outbox;

/// One connection, shared by its streams.
#[derive(Clone, Debug)]
pub(crate) struct Client(Arc<Owner>);

/// Ends the connection's tasks when the last client of it is gone.
#[derive(Debug)]
struct Owner {
    address: SocketAddr,
    connection: Arc<Connection>,
    tasks: [AbortHandle; 2],
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

#[derive(Debug, Default)]
struct Connection {
    outbox: Outbox,
    next: AtomicU64,
    streams: Mutex<FxHashMap<u64, UnboundedSender<Bytes>>>,
}

impl Client {
    /// Connects, on the runtime that it is called on.
    pub(crate) async fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (reader, writer) = socket.into_split();
        let connection = Arc::new(Connection::default());
        let (sending, reading) = (Arc::clone(&connection), Arc::clone(&connection));
        let sender = tokio::spawn(async move { sending.outbox.send_all(writer).await });
        let reader = tokio::spawn(async move {
            let outcome = reading.read_all(reader).await;
            // Without their senders the streams that wait see that nothing comes any more.
            reading.streams().clear();
            outcome
        });
        Ok(Self(Arc::new(Owner {
            address,
            connection,
            tasks: [sender.abort_handle(), reader.abort_handle()],
        })))
    }
}

impl Connection {
    async fn read_all(&self, mut reader: OwnedReadHalf) -> anyhow::Result<()> {
        let mut input = BytesMut::new();
        loop {
            input.reserve(READ_BYTES);
            if reader.read_buf(&mut input).await? == 0 {
                return Ok(());
            }
            let mut streams = self.streams();
            while let Some(frame) = frame::split_first(&mut input)? {
                match frame.kind {
                    Kind::Item => {
                        if let Some(stream) = streams.get(&frame.stream) {
                            // Its reader may be gone: then CANCEL is on its way.
                            stream.send(frame.payload).ok();
                        }
                    }
                    Kind::End => {
                        if let Some(stream) = streams.remove(&frame.stream) {
                            stream.send(Bytes::new()).ok();
                        }
                    }
                    Kind::Open | Kind::Cancel => anyhow::bail!("a server sent {:?}", frame.kind),
                }
            }
        }
    }

    fn streams(&self) -> MutexGuard<'_, FxHashMap<u64, UnboundedSender<Bytes>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller for Client {
    type Items = Stream;

    fn call(self, request: Bytes) -> impl Future<Output = Result<Stream, Failure>> + 'static {
        let connection = &self.0.connection;
        let id = connection.next.fetch_add(1, Ordering::Relaxed);
        let (sender, items) = unbounded_channel();
        connection.streams().insert(id, sender);
        connection.outbox.push(Kind::Open, id, &request);
        std::future::ready(Ok(Stream {
            client: self,
            id,
            items,
            ended: false,
        }))
    }

    async fn fresh(self) -> Result<Self, Failure> {
        Self::connect(self.0.address).await
    }
}

/// The items of one stream; an empty one is the end.
#[derive(Debug)]
pub(crate) struct Stream {
    client: Client,
    id: u64,
    items: UnboundedReceiver<Bytes>,
    ended: bool,
}

impl Items for Stream {
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match ready!(self.items.poll_recv(cx)) {
            Some(item) if item.is_empty() => {
                self.ended = true;
                Poll::Ready(None)
            }
            Some(item) => Poll::Ready(Some(Ok(take(&item)))),
            None => {
                self.ended = true;
                Poll::Ready(Some(Err(anyhow::anyhow!("the connection was lost"))))
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.ended {
            let connection = &self.client.0.connection;
            connection.streams().remove(&self.id);
            connection.outbox.push(Kind::Cancel, self.id, b"");
        }
    }
}
