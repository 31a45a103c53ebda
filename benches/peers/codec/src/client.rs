//! The client of both: the codec's dialer on plain tokio.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use ringmain_bench_harness::{Caller, Failure, Items};
use ringmain_codec::{
    Config, Connection, Event, Metadata, OpenParams, OutBuf, Priority, RequestId, Status,
    StreamHandle, Transmit,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::inbox::{Batch, Inbox, lock};
use crate::{ENDPOINT, READ_BYTES, UNSENT_BYTES_MAX};

/// How long the handshake may take.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// One connection, shared by its streams.
#[derive(Clone)]
pub(crate) struct Client(Arc<Owner>);

/// Ends the connection's tasks when the last client of it is gone.
struct Owner {
    address: SocketAddr,
    link: Arc<Link>,
    tasks: [AbortHandle; 2],
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

struct Link {
    state: Mutex<State>,
    filled: Notify,
    ready: Notify,
}

struct State {
    connection: Connection<Bytes>,
    /// By slot: where the stream's items go.
    inboxes: Vec<Option<Arc<Inbox>>>,
}

impl Client {
    /// Connects, on the runtime that it is called on.
    pub(crate) async fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (reader, writer) = socket.into_split();
        let link = Arc::new(Link {
            state: Mutex::new(State {
                connection: Connection::new(Config::dialer(None), Instant::now()),
                inboxes: Vec::new(),
            }),
            filled: Notify::new(),
            ready: Notify::new(),
        });
        link.filled.notify_one();
        let (writing, reading) = (Arc::clone(&link), Arc::clone(&link));
        let writer = tokio::spawn(async move { writing.write_all(writer).await });
        let reader = tokio::spawn(async move {
            let outcome = reading.read_all(reader).await;
            reading.close();
            outcome
        });
        let client = Self(Arc::new(Owner {
            address,
            link,
            tasks: [writer.abort_handle(), reader.abort_handle()],
        }));
        let ready = client.0.link.ready.notified();
        tokio::time::timeout(READY_WITHIN, ready)
            .await
            .context("no handshake")?;
        Ok(client)
    }
}

impl Link {
    async fn read_all(&self, mut reader: OwnedReadHalf) -> anyhow::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let len = reader.read(&mut buffer).await?;
            if len == 0 {
                return Ok(());
            }
            let mut state = self.state();
            state.read(&buffer[..len], &self.ready)?;
            let wants = state.connection.wants_transmit();
            drop(state);
            if wants {
                self.filled.notify_one();
            }
        }
    }

    async fn write_all(&self, mut writer: OwnedWriteHalf) -> std::io::Result<()> {
        let mut out = Vec::with_capacity(UNSENT_BYTES_MAX);
        loop {
            self.filled.notified().await;
            // All tasks that are ready now add their frames before one send takes them.
            tokio::task::yield_now().await;
            let mut transmit = Transmit::MoreRoomNeeded;
            while transmit == Transmit::MoreRoomNeeded {
                let mut room = OutBuf::new(&mut out, UNSENT_BYTES_MAX);
                transmit = self
                    .state()
                    .connection
                    .poll_transmit(Instant::now(), &mut room);
                writer.write_all(&out).await?;
                out.clear();
            }
        }
    }

    /// The transport is gone.
    fn close(&self) {
        let mut state = self.state();
        state.connection.fail();
        for inbox in state.inboxes.drain(..).flatten() {
            inbox.end(Err("the connection was lost".to_owned()));
        }
    }

    fn open(&self, request: Bytes) -> anyhow::Result<(StreamHandle, Arc<Inbox>)> {
        let open = OpenParams {
            request_id: RequestId([0; 16]),
            deadline: None,
            priority: Priority::Middle,
            trace: None,
            endpoint: ENDPOINT,
            metadata: Metadata::default(),
        };
        let inbox = Arc::new(Inbox::default());
        let mut state = self.state();
        let now = Instant::now();
        let stream = state.connection.open(now, &open, Some(request), true)?;
        let slot = stream.slot as usize;
        if state.inboxes.len() <= slot {
            state.inboxes.resize(slot + 1, None);
        }
        state.inboxes[slot] = Some(Arc::clone(&inbox));
        drop(state);
        self.filled.notify_one();
        Ok((stream, inbox))
    }

    /// The consumer of `stream` took what `credit` stands for.
    fn release(&self, stream: StreamHandle, credit: u32) {
        let mut state = self.state();
        state.connection.release(stream, credit);
        let wants = state.connection.wants_transmit();
        drop(state);
        if wants {
            self.filled.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(&mut self, mut chunk: &[u8], ready: &Notify) -> anyhow::Result<()> {
        let now = Instant::now();
        while let Some(event) = self.connection.read(now, &mut chunk)? {
            match event {
                Event::Ready => ready.notify_one(),
                Event::Data {
                    stream,
                    piece,
                    message_end,
                    credit,
                    ..
                } => {
                    if let Some(Some(inbox)) = self.inboxes.get(stream.slot as usize) {
                        inbox.push(piece, message_end, credit);
                    }
                }
                Event::End { stream, end, .. } => {
                    let outcome = match end.status {
                        Status::Ok => Ok(()),
                        other => Err(format!("the stream ended as {other}")),
                    };
                    end_stream(&mut self.inboxes, stream, outcome);
                }
                Event::Refused { stream, .. } | Event::StreamRefused { stream, .. } => {
                    let outcome = Err("the stream was refused".to_owned());
                    end_stream(&mut self.inboxes, stream, outcome);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn end_stream(
    inboxes: &mut [Option<Arc<Inbox>>],
    stream: StreamHandle,
    outcome: Result<(), String>,
) {
    let inbox = inboxes.get_mut(stream.slot as usize).and_then(Option::take);
    if let Some(inbox) = inbox {
        inbox.end(outcome);
    }
}

impl Caller for Client {
    type Items = Stream;

    fn call(self, request: Bytes) -> impl Future<Output = Result<Stream, Failure>> + 'static {
        let opened = self.0.link.open(request);
        std::future::ready(opened.map(|(handle, inbox)| Stream {
            client: self,
            handle,
            inbox,
            batch: Batch::default(),
            ended: false,
        }))
    }

    async fn fresh(self) -> Result<Self, Failure> {
        Self::connect(self.0.address).await
    }
}

/// The items of one stream.
pub(crate) struct Stream {
    client: Client,
    handle: StreamHandle,
    inbox: Arc<Inbox>,
    batch: Batch,
    ended: bool,
}

impl Items for Stream {
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>> {
        if self.batch.is_empty() && !self.ended {
            match ready!(self.poll_batch(cx)) {
                Ok(()) => {}
                Err(failure) => return Poll::Ready(Some(Err(failure))),
            }
        }
        Poll::Ready(self.batch.next().map(|item| Ok(take(item))))
    }
}

impl Stream {
    /// Takes all items that have arrived, or the end.
    fn poll_batch(&mut self, cx: &Context<'_>) -> Poll<Result<(), Failure>> {
        let mut arrived = lock(&self.inbox.0);
        let credit = arrived.swap(&mut self.batch);
        let outcome = if self.batch.is_empty() {
            arrived.outcome.take()
        } else {
            None
        };
        if self.batch.is_empty() && outcome.is_none() {
            arrived.wait(cx.waker());
        }
        drop(arrived);
        if credit > 0 {
            self.client.0.link.release(self.handle, credit);
        }
        if let Some(outcome) = outcome {
            self.ended = true;
            return Poll::Ready(outcome.map_err(Failure::msg));
        }
        if self.batch.is_empty() {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let link = &self.client.0.link;
        let mut state = link.state();
        let inbox = state.inboxes.get_mut(self.handle.slot as usize);
        let inbox = inbox.filter(|inbox| {
            let inbox = inbox.as_ref();
            inbox.is_some_and(|inbox| Arc::ptr_eq(inbox, &self.inbox))
        });
        if let Some(inbox) = inbox {
            *inbox = None;
            state.connection.kill(self.handle);
            drop(state);
            link.filled.notify_one();
        }
    }
}
