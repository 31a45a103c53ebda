//! One transport connection as a value: codec state, out-buffers, flush policy.
//!
//! A link does no I/O. Whoever owns the socket (a shard, or a task of the caller's runtime) feeds
//! it what arrived and asks for what must leave.

mod flush;
mod inbox;
mod out;

use std::time::Instant;

use ringmain_codec::wire::DATA_FRAME_COST_BYTES;
use ringmain_codec::{
    Config, Connection, ConnectionError, EndParams, Event, OpenError, OpenParams, OutBuf,
    SendError, Started, StreamHandle, Transmit, TrySend,
};

use self::flush::FlushClock;
pub use self::flush::FlushReason;
pub use self::inbox::{Inbox, Message, Taken};
use self::out::OutBuffers;
use crate::payload::Payload;

/// One connection's protocol state and its two out-buffers.
///
/// Invariant: at most one buffer is with the transport; frames are only appended to the other.
#[derive(Debug)]
pub struct Link {
    connection: Connection<Payload>,
    out: OutBuffers,
    clock: FlushClock,
    submitted_bytes: u64,
}

impl Link {
    /// A link over a fresh connection; a dialer has its HELLO to send already.
    pub fn new(config: Config, now: Instant) -> Self {
        Self {
            connection: Connection::new(config, now),
            out: OutBuffers::default(),
            clock: FlushClock::default(),
            submitted_bytes: 0,
        }
    }

    /// The next event in `chunk`; `None` when all of it has been taken in.
    ///
    /// # Errors
    ///
    /// What the peer did wrong; the link must be closed.
    pub fn read<'a, 'b: 'a>(
        &'a mut self,
        now: Instant,
        chunk: &mut &'b [u8],
    ) -> Result<Option<Event<'a>>, ConnectionError> {
        self.connection.read(now, chunk)
    }

    /// The protocol state below, for questions and for calls without output of their own.
    pub const fn connection(&self) -> &Connection<Payload> {
        &self.connection
    }

    /// Opens a stream; see [`Connection::open`].
    ///
    /// # Errors
    ///
    /// Nothing was sent: the error says which limit or state refused.
    pub fn open(
        &mut self,
        now: Instant,
        open: &OpenParams<'_>,
        request: Option<Payload>,
        end_request: bool,
    ) -> Result<StreamHandle, OpenError> {
        self.connection.open(now, open, request, end_request)
    }

    /// Writes one small message into the out-buffer, if credit, room and order allow it now.
    ///
    /// One copy, no allocation once the buffer has grown.
    ///
    /// # Errors
    ///
    /// The stream is gone or the message too large.
    pub fn try_send(&mut self, stream: StreamHandle, message: &[u8]) -> Result<TrySend, SendError> {
        loop {
            let buf = self.out.filling();
            let limit = buf.capacity();
            let sent = self
                .connection
                .try_send(stream, message, &mut OutBuf::new(buf, limit))?;
            if sent != TrySend::NoRoom || !self.out.grow() {
                return Ok(sent);
            }
        }
    }

    /// Writes one fragment of a message into the out-buffer, all of it or nothing.
    ///
    /// # Errors
    ///
    /// The stream is gone or the message too large.
    pub fn try_send_fragment(
        &mut self,
        stream: StreamHandle,
        fragment: &[u8],
        message_len: u32,
        message_end: bool,
    ) -> Result<TrySend, SendError> {
        loop {
            let buf = self.out.filling();
            let limit = buf.capacity();
            let mut out = OutBuf::new(buf, limit);
            let sent = self.connection.try_send_fragment(
                stream,
                fragment,
                message_len,
                message_end,
                &mut out,
            )?;
            if sent != TrySend::NoRoom || !self.out.grow() {
                return Ok(sent);
            }
        }
    }

    /// Queues one message; fragments are cut when they leave.
    ///
    /// # Errors
    ///
    /// The stream is gone, the message too large, or the stream's queue full.
    pub fn send(&mut self, stream: StreamHandle, message: Payload) -> Result<(), SendError> {
        self.connection.send(stream, message)
    }

    /// Queues one fragment of a message of `message_len` bytes; it may be cut further.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and when the fragments do not add up.
    pub fn send_fragment(
        &mut self,
        stream: StreamHandle,
        fragment: Payload,
        message_len: u32,
        message_end: bool,
    ) -> Result<(), SendError> {
        self.connection
            .send_fragment(stream, fragment, message_len, message_end)
    }

    /// The longest fragment that [`try_send_fragment`](Self::try_send_fragment) takes: what the
    /// peer reads in one frame, and what its windows always have credit for again. 0 before the
    /// handshake.
    pub fn fragment_bytes_max(&self) -> usize {
        self.connection.peer().map_or(0, |peer| {
            let limits = &peer.limits;
            let cost_max = limits.stream_window.min(limits.connection_window) / 2;
            let by_credit = cost_max.saturating_sub(DATA_FRAME_COST_BYTES) as usize;
            by_credit.min(usize::from(limits.fragment_bytes_max))
        })
    }

    /// Tells the peer that the handler was called.
    pub fn accept(&mut self, stream: StreamHandle) {
        self.connection.accept(stream);
    }

    /// Ends a stream from the responder's side.
    pub fn end(&mut self, stream: StreamHandle, end: EndParams<'_>) {
        self.connection.end(stream, end);
    }

    /// Ends the input of a stream after what is queued.
    pub fn finish(&mut self, stream: StreamHandle) {
        self.connection.finish(stream);
    }

    /// Asks the responder to finish early.
    pub fn stop(&mut self, stream: StreamHandle) {
        self.connection.stop(stream);
    }

    /// Drops a stream now; no further event comes for it.
    pub fn kill(&mut self, stream: StreamHandle) {
        self.connection.kill(stream);
    }

    /// Returns credit for bytes that the consumer took.
    pub fn release(&mut self, stream: StreamHandle, credit: u32) {
        self.connection.release(stream, credit);
    }

    /// Announces that no further stream is welcome.
    pub fn goaway(&mut self, status: ringmain_codec::Status, message: &str) {
        self.connection.goaway(status, message);
    }

    /// Keepalive and handshake time.
    ///
    /// # Errors
    ///
    /// The peer is unresponsive or never finished its handshake.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ConnectionError> {
        if self.connection.streams_open() == 0 && !self.out.is_in_flight() {
            self.out.shrink();
        }
        self.connection.handle_timeout(now)
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    /// Marks everything at hand to leave at the end of this turn.
    pub const fn mark_urgent(&mut self) {
        self.clock.mark_urgent();
    }

    /// Whether there is anything to send.
    pub fn has_output(&self) -> bool {
        self.out.filled() > 0 || self.connection.wants_transmit()
    }

    /// Whether a buffer is with the transport.
    pub const fn is_sending(&self) -> bool {
        self.out.is_in_flight()
    }

    /// Bytes that the filling out-buffer may still take, if producers that wait for room should
    /// have it: not while a buffer is with the transport and the other is half full, since they
    /// would only find the rest of it gone.
    pub(crate) fn room(&self) -> Option<usize> {
        let room = self.out.room();
        (!self.out.is_in_flight() || room >= out::CAPACITY_MAX / 2).then_some(room)
    }

    /// Collects what must leave now, or `None` when it may wait (or a send is in flight).
    ///
    /// Called once per turn for a link with output; `idle` says that the caller has nothing else
    /// to do. Give the buffer back with [`sent`](Self::sent).
    pub fn poll_send(&mut self, now: Instant, idle: bool) -> Option<(Vec<u8>, FlushReason)> {
        if self.out.is_in_flight() {
            return None;
        }
        self.fill(now);
        if self.connection.take_urgent() {
            self.clock.mark_urgent();
        }
        if self.out.filled() == 0 {
            self.clock.reset();
            return None;
        }
        let reason = self.clock.decide(now, self.out.filled(), idle)?;
        self.clock.reset();
        let buf = self.out.take()?;
        self.submitted_bytes += buf.len() as u64;
        self.connection.set_submitted(self.submitted_bytes);
        // What needs no credit goes ahead of the data that producers are about to write.
        self.fill(now);
        Some((buf, reason))
    }

    /// Takes a buffer back after its send ended; whether there is more to send.
    pub fn sent(&mut self, buf: Vec<u8>) -> bool {
        self.out.give_back(buf);
        self.has_output()
    }

    /// Writes what an error still has to tell the peer, ahead of [`fail`](Self::fail).
    pub fn farewell(&mut self, now: Instant) {
        self.fill(now);
    }

    /// The transport is gone: every open stream is now failed.
    pub fn fail(&mut self) {
        self.connection.fail();
    }

    /// The next stream that [`fail`](Self::fail) ended.
    pub fn poll_failed(&mut self) -> Option<(StreamHandle, Started)> {
        self.connection.poll_failed()
    }

    fn fill(&mut self, now: Instant) {
        while self.connection.wants_transmit() {
            let buf = self.out.filling();
            let limit = buf.capacity();
            let transmit = self
                .connection
                .poll_transmit(now, &mut OutBuf::new(buf, limit));
            match transmit {
                Transmit::Drained => break,
                Transmit::MoreRoomNeeded => {
                    if !self.out.grow() {
                        break;
                    }
                }
            }
        }
    }
}
