//! The connection: one value per transport, fed with bytes and time, asked for events and bytes
//! (spec 4 to 9).
//!
//! ```text
//!            chunk, now                     messages, signals
//!                │                                 │
//!   events <── read ──> streams, credit, flood <── send, end, kill ...
//!                              │
//!                        poll_transmit ──> out buffer
//! ```
//!
//! It does no I/O, reads no clock and keeps no payload that it received.

mod calls;
mod close;
mod config;
mod core;
mod error;
mod event;
mod flood;
mod framer;
mod keepalive;
mod negotiate;
mod out;
mod params;
mod receive;
mod receive_data;
mod receive_signal;
mod stats;
mod streams;
mod transmit;
mod try_send;

#[cfg(test)]
mod tests;

use std::time::Instant;

pub use config::{Config, Role};
pub use error::{ConnectionError, FloodKind, OpenError, SendError};
pub use event::{ConnectionState, Event, PeerInfo, StreamHandle};
pub use negotiate::VERSION;
pub use out::{Transmit, TrySend};
pub use params::{EndParams, OpenParams};
pub use stats::{CreditAudit, CreditFlow, Stats};

use self::core::Core;
use crate::{OutBuf, Started, Status};
use framer::Framer;
use receive::Progress;

/// The protocol's state on one transport connection. `P` owns the bytes of a message that waits
/// to be sent.
///
/// One thread owns it at a time. Every call returns at once. Reading or writing DATA allocates
/// nothing in steady state; opening a stream may.
#[derive(Debug)]
pub struct Connection<P> {
    framer: Framer,
    core: Core<P>,
}

impl<P: AsRef<[u8]>> Connection<P> {
    /// A connection on a transport that was just opened. A dialer has HELLO to transmit.
    ///
    /// # Panics
    /// When `config.limits` is not what [`Limits::check`](crate::Limits::check) allows.
    pub fn new(config: Config, now: Instant) -> Self {
        Self {
            framer: Framer::new(),
            core: Core::new(config, now),
        }
    }

    /// Takes bytes from the front of `chunk` until there is an event to tell. Call it with the
    /// same chunk until it returns `None`; the chunk is empty then.
    ///
    /// # Errors
    /// The connection is closed. `poll_transmit` may still write a GOAWAY that says why; then
    /// `fail` and `poll_failed` give the streams that were open.
    pub fn read<'a, 'b: 'a>(
        &'a mut self,
        now: Instant,
        chunk: &mut &'b [u8],
    ) -> Result<Option<Event<'a>>, ConnectionError> {
        let Self { framer, core } = self;
        if let Some(error) = core.error {
            return Err(error);
        }
        core.now = now;
        if !chunk.is_empty() {
            core.keepalive.heard(now);
        }
        let token = loop {
            if core.has_events()
                && let Some(event) = core.poll_event()
            {
                return Ok(Some(event));
            }
            if core.is_between_frames()
                && framer.is_at_start()
                && let Some(event) = core.whole_message(chunk)
            {
                return Ok(Some(event));
            }
            match core.advance(framer, now, chunk) {
                Ok(Progress::Event(event)) => return Ok(Some(event)),
                Ok(Progress::Again) => {}
                Ok(Progress::Idle) => return Ok(None),
                Ok(Progress::Buffered(token)) => break token,
                Err(error) => return Err(core.close(error)),
            }
        };
        token.event(framer.body()).map(Some)
    }

    /// When `handle_timeout` must be called, if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.core.poll_timeout()
    }

    /// Does what is due by `now`: queues a PING, or gives the peer up. Calling it early is
    /// harmless. When it comes late by more than half a keepalive interval, it was this process
    /// that paused, and the peer gets one more interval (bounded by `keepalive_misses_max`).
    ///
    /// # Errors
    /// The connection is closed: `HandshakeTimeout` or `PeerUnresponsive`.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.core.handle_timeout(now)
    }

    /// Writes what may be sent: control frames first, then data, stream by stream in turn with a
    /// share by priority. Frames are written whole. A buffer of [`CONTROL_FRAME_BYTES_MAX`] bytes
    /// always makes progress.
    ///
    /// [`CONTROL_FRAME_BYTES_MAX`]: crate::wire::CONTROL_FRAME_BYTES_MAX
    pub fn poll_transmit(&mut self, now: Instant, out: &mut OutBuf<'_>) -> Transmit {
        self.core.poll_transmit(now, out)
    }

    /// Whether `poll_transmit` has something to write.
    pub fn wants_transmit(&self) -> bool {
        self.core.wants_transmit()
    }

    /// Whether since the last call something was queued or written that should leave soon: OPEN,
    /// ACCEPT, a first DATA, END, STOP, KILL or PONG.
    pub fn take_urgent(&mut self) -> bool {
        std::mem::take(&mut self.core.urgent)
    }

    /// Dialer: opens a stream. Of `request`, the first message, as much goes with OPEN as fits
    /// there and credit allows; the rest follows as data. `end_request` says that there is no
    /// other message.
    ///
    /// # Errors
    /// No stream was opened.
    pub fn open(
        &mut self,
        now: Instant,
        open: &OpenParams<'_>,
        request: Option<P>,
        end_request: bool,
    ) -> Result<StreamHandle, OpenError> {
        self.core.open(now, open, request, end_request)
    }

    /// Dialer: asks the handler to finish early. Idempotent; does nothing after `kill`.
    pub fn stop(&mut self, stream: StreamHandle) {
        self.core.stop(stream);
    }

    /// Dialer: drops the stream now. It is over for the caller, without a further event; what
    /// still comes for it is discarded.
    pub fn kill(&mut self, stream: StreamHandle) {
        self.core.kill(stream);
    }

    /// Dialer: ends the input behind what is queued. A message given in fragments must still be
    /// completed.
    pub fn finish(&mut self, stream: StreamHandle) {
        self.core.finish(stream);
    }

    /// Acceptor: tells that the handler was called. A first DATA tells it too.
    pub fn accept(&mut self, stream: StreamHandle) {
        self.core.accept(stream);
    }

    /// Acceptor: ends the stream, behind what is queued unless `discard_queued`. It is over for
    /// the caller; its slot is used again once END was written.
    pub fn end(&mut self, stream: StreamHandle, end: EndParams<'_>) {
        self.core.end(stream, &end);
    }

    /// Queues a message. It is cut into fragments as it is written.
    ///
    /// # Errors
    /// The message was not queued.
    pub fn send(&mut self, stream: StreamHandle, message: P) -> Result<(), SendError> {
        self.core.send(stream, message)
    }

    /// Queues a fragment of a message of `message_len` bytes.
    ///
    /// # Errors
    /// The fragment was not queued.
    pub fn send_fragment(
        &mut self,
        stream: StreamHandle,
        fragment: P,
        message_len: u32,
        message_end: bool,
    ) -> Result<(), SendError> {
        self.core
            .send_fragment(stream, fragment, message_len, message_end)
    }

    /// Writes a message into `out` now, all or nothing, if credit and room allow and nothing is
    /// ahead of it.
    ///
    /// # Errors
    /// The stream takes no message, or not this one.
    pub fn try_send(
        &mut self,
        stream: StreamHandle,
        message: &[u8],
        out: &mut OutBuf<'_>,
    ) -> Result<TrySend, SendError> {
        self.core.try_send(stream, message, out)
    }

    /// Writes a fragment of a message of `message_len` bytes into `out` now, all or nothing.
    ///
    /// # Errors
    /// The stream takes no message, or not this fragment.
    pub fn try_send_fragment(
        &mut self,
        stream: StreamHandle,
        fragment: &[u8],
        message_len: u32,
        message_end: bool,
        out: &mut OutBuf<'_>,
    ) -> Result<TrySend, SendError> {
        self.core
            .try_send_fragment(stream, fragment, message_len, message_end, out)
    }

    /// What the stream may use up now of its own and the connection's credit, in bytes. A message
    /// costs 8 more than its length. 0 for a stream that is over.
    pub fn send_credit(&self, stream: StreamHandle) -> u32 {
        let Some(slot) = self.core.streams.find(stream) else {
            return 0;
        };
        self.core
            .streams
            .at(slot)
            .send
            .window
            .credit()
            .min(self.core.send.credit())
    }

    /// Payload bytes that wait in the stream's queue.
    pub fn queued_bytes(&self, stream: StreamHandle) -> usize {
        self.core
            .streams
            .find(stream)
            .map_or(0, |slot| self.core.streams.at(slot).send.queued_bytes())
    }

    /// The consumer took what `credit` stands for. Credit beyond what was delivered is dropped
    /// and counted.
    pub fn release(&mut self, stream: StreamHandle, credit: u32) {
        self.core.release(stream, credit);
    }

    /// Takes no new streams: GOAWAY with the last one taken. Idempotent; the first call counts.
    pub fn goaway(&mut self, status: Status, message: &str) {
        self.core.goaway(status, message);
    }

    /// GOAWAY was sent or received, no stream is open, and nothing is left to transmit.
    pub fn is_drained(&self) -> bool {
        self.core.is_drained()
    }

    /// How many of all transmitted bytes were handed to the kernel. It decides whether a lost
    /// stream can have started; a caller that never says so gets `Unknown` where `No` was
    /// possible.
    pub fn set_submitted(&mut self, bytes_total: u64) {
        self.core.submitted = Some(bytes_total);
    }

    /// How many bytes were written into out buffers, ever.
    pub fn transmitted_bytes(&self) -> u64 {
        self.core.transmitted
    }

    /// The transport is gone, or an error closed the connection: nothing more is read or written.
    pub fn fail(&mut self) {
        self.core.fail();
    }

    /// After `fail`: each stream that was open, once.
    pub fn poll_failed(&mut self) -> Option<(StreamHandle, Started)> {
        self.core.poll_failed()
    }

    /// Where the connection is in its life.
    pub fn state(&self) -> ConnectionState {
        self.core.state
    }

    /// What the handshake told about the peer.
    pub fn peer(&self) -> Option<&PeerInfo> {
        self.core.peer.as_ref()
    }

    /// Streams that are not over for the caller.
    pub fn streams_open(&self) -> usize {
        self.core.streams.open()
    }

    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.core.stats
    }

    /// Where all credit is. Walks over all streams.
    pub fn credit_audit(&self) -> CreditAudit {
        CreditAudit {
            connection_received: self.core.recv.flow,
            connection_sent: self.core.send.flow,
            streams_received: self.core.streams.received,
            streams_sent: self.core.streams.sent,
            streams_held: self.core.streams.held(),
        }
    }
}
