//! The state behind [`Connection`](super::Connection), apart from received bytes.

use std::collections::VecDeque;
use std::time::Instant;

use super::close::Farewell;
use super::event::{ConnectionState, Event, PeerInfo, StreamHandle};
use super::flood::Flood;
use super::keepalive::{Keepalive, Overdue};
use super::receive::Incoming;
use super::stats::Stats;
use super::streams::Streams;
use super::streams::credit::{RecvAccount, SendAccount};
use super::{Config, ConnectionError};
use crate::StreamId;
use crate::wire::WINDOW_BYTES_MAX;

#[derive(Debug)]
pub(crate) struct Core<P> {
    pub(crate) config: Config,
    pub(crate) state: ConnectionState,
    pub(crate) error: Option<ConnectionError>,
    pub(crate) peer: Option<PeerInfo>,
    pub(crate) streams: Streams<P>,
    /// Connection credit given to the peer.
    pub(crate) recv: RecvAccount,
    /// Connection credit given by the peer.
    pub(crate) send: SendAccount,
    /// The peer's limits in the form that sending needs.
    pub(crate) sending: Sending,
    pub(crate) keepalive: Keepalive,
    pub(crate) flood: Flood,
    pub(crate) stats: Stats,
    /// The DATA that is being received.
    pub(crate) incoming: Option<Incoming>,
    /// Acceptor: the input of this stream is complete; told next.
    pub(crate) end_request: Option<StreamHandle>,
    /// Dialer: GOAWAY refused streams; slots from here on are still to be looked at.
    pub(crate) refusing_from: Option<u32>,
    /// Dialer: the next stream's id; `None` when they are used up.
    pub(crate) next_id: Option<StreamId>,
    /// Acceptor: the highest id seen.
    pub(crate) last_peer_id: StreamId,
    /// HELLO or WELCOME is still to be written.
    pub(crate) greeting_due: bool,
    pub(crate) pongs: VecDeque<u64>,
    pub(crate) farewell: Farewell,
    pub(crate) handshake_deadline: Instant,
    pub(crate) urgent: bool,
    pub(crate) transmitted: u64,
    pub(crate) submitted: Option<u64>,
    /// The latest time that was passed in.
    pub(crate) now: Instant,
}

/// What bounds the frames sent to the peer.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Sending {
    pub(crate) message_bytes_max: u32,
    pub(crate) fragment_bytes_max: usize,
    /// A cost for which credit is certain to come back: half of the smaller window.
    pub(crate) cost_max: u32,
}

impl<P: AsRef<[u8]>> Core<P> {
    pub(crate) fn new(mut config: Config, now: Instant) -> Self {
        let limits = config.limits;
        assert!(
            limits.check().is_ok(),
            "windows or fragment size out of the protocol's range"
        );
        config.stream_window_max = config.stream_window_max.min(WINDOW_BYTES_MAX);
        let keepalive = Keepalive::new(
            limits.keepalive_idle_ms,
            limits.keepalive_active_ms,
            config.keepalive_misses_max,
            now,
        );
        Self {
            state: ConnectionState::Handshaking,
            error: None,
            peer: None,
            streams: Streams::new(),
            recv: RecvAccount::new(limits.connection_window),
            send: SendAccount::default(),
            sending: Sending::default(),
            keepalive,
            flood: Flood::new(&config, now),
            stats: Stats::default(),
            incoming: None,
            end_request: None,
            refusing_from: None,
            next_id: Some(StreamId::DIALER_FIRST),
            last_peer_id: StreamId::CONNECTION,
            greeting_due: config.is_dialer(),
            pongs: VecDeque::new(),
            farewell: Farewell::default(),
            handshake_deadline: now + config.handshake_timeout,
            urgent: false,
            transmitted: 0,
            submitted: None,
            now,
            config,
        }
    }

    pub(crate) fn is_dialer(&self) -> bool {
        self.config.is_dialer()
    }

    /// What of all that was transmitted counts as handed to the kernel.
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.unwrap_or(u64::MAX)
    }

    /// Whether a stream with this id was ever opened.
    pub(crate) fn was_opened(&self, id: StreamId) -> bool {
        if self.is_dialer() {
            self.next_id.is_none_or(|next| id < next)
        } else {
            id <= self.last_peer_id
        }
    }

    /// Whether the next byte belongs to no frame that is being received, after the handshake.
    #[inline]
    pub(crate) fn is_between_frames(&self) -> bool {
        self.incoming.is_none() && self.peer.is_some()
    }

    /// Whether `poll_event` may have something.
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        self.end_request.is_some() || self.refusing_from.is_some() || !self.streams.ready.is_empty()
    }

    /// The next event that needs no received bytes.
    pub(crate) fn poll_event(&mut self) -> Option<Event<'static>> {
        if let Some(stream) = self.end_request.take()
            && self.streams.callers(stream).is_some()
        {
            return Some(Event::EndRequest { stream });
        }
        if self.refusing_from.is_some()
            && let Some(event) = self.next_refused()
        {
            return Some(event);
        }
        let slot = self.streams.ready.pop()?;
        Some(Event::SendReady {
            stream: self.streams.at(slot).handle(slot),
        })
    }

    /// Drops what a stream has queued, and counts it.
    pub(crate) fn discard_queue(&mut self, slot: u32) {
        let bytes = self.streams.discard_queue(slot);
        self.stats.queued_bytes_discarded += bytes as u64;
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.now = now;
        match self.state {
            ConnectionState::Closed => return Ok(()),
            ConnectionState::Handshaking if now < self.handshake_deadline => return Ok(()),
            ConnectionState::Handshaking => {
                return Err(self.close(ConnectionError::HandshakeTimeout));
            }
            ConnectionState::Ready | ConnectionState::Draining => {}
        }
        let active = self.streams.used() > 0;
        match self.keepalive.handle_timeout(now, active) {
            Overdue::No => Ok(()),
            Overdue::Ping { missed, granted } => {
                self.stats.keepalive_misses += u64::from(missed);
                self.stats.keepalive_grants += u64::from(granted);
                Ok(())
            }
            Overdue::Dead => {
                self.stats.keepalive_misses += 1;
                Err(self.close(ConnectionError::PeerUnresponsive))
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            ConnectionState::Closed => None,
            ConnectionState::Handshaking => Some(self.handshake_deadline),
            ConnectionState::Ready | ConnectionState::Draining => {
                self.keepalive.deadline(self.streams.used() > 0)
            }
        }
    }
}
