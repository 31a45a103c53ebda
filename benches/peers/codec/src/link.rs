//! The server's state of one connection, shared by its tasks on one thread.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ringmain_bench_harness::{Producer, Timer};
use ringmain_codec::{
    Config, Connection, ConnectionError, EndParams, Event, InstanceId, OutBuf, Status,
    StreamHandle, Transmit, TrySend,
};

use crate::UNSENT_BYTES_MAX;

/// One connection.
pub(crate) struct Link(RefCell<State>);

struct State {
    connection: Connection<Vec<u8>>,
    /// Frames that leave next; never grown.
    out: Vec<u8>,
    /// By slot: what is known of the stream in it.
    streams: Vec<Stream>,
    /// Handlers whose items wait in the connection.
    blocked: Vec<Waker>,
    writer: Option<Waker>,
    /// Whether the writer has something to do.
    filled: bool,
    closed: bool,
}

#[derive(Default)]
struct Stream {
    request: Vec<u8>,
    stopped: bool,
    handler: Option<Waker>,
}

impl Link {
    pub(crate) fn new(instance: InstanceId) -> Self {
        Self(RefCell::new(State {
            connection: Connection::new(Config::acceptor(instance), Instant::now()),
            out: Vec::with_capacity(UNSENT_BYTES_MAX),
            streams: Vec::new(),
            blocked: Vec::new(),
            writer: None,
            filled: false,
            closed: false,
        }))
    }

    /// Takes received bytes; leaves in `started` what to produce for each request that is
    /// complete, or nothing for one that cannot be read. The caller runs it: a runtime may do so at
    /// once, and the state is not free before this returns.
    pub(crate) fn read<T: Timer + Copy>(
        &self,
        mut chunk: &[u8],
        timer: T,
        started: &mut Vec<(StreamHandle, Option<Producer<T>>)>,
    ) -> Result<(), ConnectionError> {
        let now = Instant::now();
        let mut state = self.0.borrow_mut();
        let State {
            connection,
            streams,
            ..
        } = &mut *state;
        while let Some(event) = connection.read(now, &mut chunk)? {
            match event {
                Event::Open {
                    stream,
                    open,
                    credit,
                } => {
                    let slot = stream.slot as usize;
                    if streams.len() <= slot {
                        streams.resize_with(slot + 1, Stream::default);
                    }
                    let opened = &mut streams[slot];
                    opened.stopped = false;
                    opened.request.clear();
                    opened.request.extend_from_slice(open.request);
                    connection.release(stream, credit);
                }
                Event::Data {
                    stream,
                    piece,
                    credit,
                    ..
                } => {
                    streams[stream.slot as usize]
                        .request
                        .extend_from_slice(piece);
                    connection.release(stream, credit);
                }
                Event::EndRequest { stream } => {
                    let request = &streams[stream.slot as usize].request;
                    started.push((stream, Producer::new(request, timer)));
                }
                Event::Stop { stream } | Event::Kill { stream } => {
                    let stream = &mut streams[stream.slot as usize];
                    stream.stopped = true;
                    stream.handler.take().into_iter().for_each(Waker::wake);
                }
                _ => {}
            }
        }
        state.wake_writer();
        Ok(())
    }

    /// Produces and queues items until the last one, or until nobody wants them.
    pub(crate) fn poll_answer<T: Timer>(
        &self,
        cx: &mut Context<'_>,
        stream: StreamHandle,
        producer: &mut Producer<T>,
    ) -> Poll<()> {
        loop {
            let mut state = self.0.borrow_mut();
            if state.closed || state.streams[stream.slot as usize].stopped {
                return Poll::Ready(());
            }
            if state.connection.queued_bytes(stream) > 0 {
                state.blocked.push(cx.waker().clone());
                return Poll::Pending;
            }
            match producer.poll_item(cx) {
                Poll::Ready(Some(item)) => {
                    if !state.send(stream, item) {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => {
                    let handler = &mut state.streams[stream.slot as usize].handler;
                    if !handler
                        .as_ref()
                        .is_some_and(|old| old.will_wake(cx.waker()))
                    {
                        *handler = Some(cx.waker().clone());
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    /// Ends a stream.
    pub(crate) fn end(&self, stream: StreamHandle, status: Status) {
        let mut state = self.0.borrow_mut();
        state.connection.end(stream, EndParams::new(status));
        state.wake_writer();
    }

    /// Waits until there is something to write; whether the connection lives.
    pub(crate) async fn filled(&self) -> bool {
        poll_fn(|cx| {
            let mut state = self.0.borrow_mut();
            if state.closed {
                return Poll::Ready(false);
            }
            if std::mem::take(&mut state.filled) {
                return Poll::Ready(true);
            }
            state.writer = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// What is to be written now; `spare` takes its place.
    pub(crate) fn take_out(&self, spare: Vec<u8>) -> Vec<u8> {
        let mut state = self.0.borrow_mut();
        let State {
            connection,
            out,
            blocked,
            filled,
            ..
        } = &mut *state;
        let mut room = OutBuf::new(out, UNSENT_BYTES_MAX);
        *filled = connection.poll_transmit(Instant::now(), &mut room) == Transmit::MoreRoomNeeded;
        blocked.drain(..).for_each(Waker::wake);
        std::mem::replace(out, spare)
    }

    /// The transport is gone: every task of the connection ends.
    pub(crate) fn close(&self) {
        let mut state = self.0.borrow_mut();
        state.closed = true;
        state.connection.fail();
        let State {
            streams,
            blocked,
            writer,
            ..
        } = &mut *state;
        let handlers = streams
            .iter_mut()
            .filter_map(|stream| stream.handler.take());
        let tasks = handlers.chain(blocked.drain(..)).chain(writer.take());
        tasks.for_each(Waker::wake);
    }
}

impl State {
    /// Queues an item; whether the stream takes more.
    fn send(&mut self, stream: StreamHandle, item: &[u8]) -> bool {
        let mut room = OutBuf::new(&mut self.out, UNSENT_BYTES_MAX);
        let sent = match self.connection.try_send(stream, item, &mut room) {
            Ok(TrySend::Written) => true,
            // It waits in the connection for room or credit.
            Ok(_) => self.connection.send(stream, item.to_vec()).is_ok(),
            Err(_) => false,
        };
        self.wake_writer();
        sent
    }

    fn wake_writer(&mut self) {
        if !self.filled {
            self.filled = true;
            self.writer.take().into_iter().for_each(Waker::wake);
        }
    }
}
