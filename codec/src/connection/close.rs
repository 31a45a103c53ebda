//! The ends of a connection: GOAWAY, errors, and a transport that is gone (spec 8.2 and 9).

use super::core::Core;
use super::event::{ConnectionState, Event, StreamHandle};
use super::streams::state::Phase;
use super::{ConnectionError, ConnectionState as State};
use crate::frame::Goaway;
use crate::wire::TEXT_BYTES_MAX;
use crate::{Started, Status, StreamId};

/// GOAWAY from either side, and what is left of a closed connection.
#[derive(Debug, Default)]
pub(crate) struct Farewell {
    /// GOAWAY was queued here by `goaway`.
    pub(crate) sent: bool,
    /// GOAWAY came from the peer.
    pub(crate) received: bool,
    /// The last id that the first GOAWAY named: a later one must not name a higher (spec 8.2.2).
    last_stream: Option<StreamId>,
    /// The GOAWAY to write.
    pub(crate) due: Option<Due>,
    /// `poll_failed` goes on at this slot.
    failed_from: u32,
}

#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) last_stream: StreamId,
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl<P: AsRef<[u8]>> Core<P> {
    /// Takes no new streams from here on.
    pub(crate) fn goaway(&mut self, status: Status, message: &str) {
        if self.farewell.sent || self.state == State::Closed {
            return;
        }
        self.farewell.sent = true;
        if self.state == State::Ready {
            self.state = State::Draining;
        }
        let message = cut_text(message, TEXT_BYTES_MAX);
        let last_stream = self.last_taken();
        self.farewell.due = Some(Due {
            last_stream,
            status,
            message: message.to_owned(),
        });
    }

    /// Closes the connection for an error; a GOAWAY may still say why.
    pub(crate) fn close(&mut self, error: ConnectionError) -> ConnectionError {
        if self.state == State::Closed {
            return error;
        }
        self.state = State::Closed;
        self.error = Some(error);
        let tells_peer = !matches!(
            error,
            ConnectionError::NotRingmain(_)
                | ConnectionError::HandshakeTimeout
                | ConnectionError::PeerClosed(_)
                | ConnectionError::Closed
        );
        // A dialer that has not even sent HELLO has nobody to tell (spec 8.2.5).
        let is_known = !(self.is_dialer() && self.greeting_due);
        let last_stream = self.last_taken();
        self.farewell.due = (tells_peer && is_known).then(|| Due {
            last_stream,
            status: error.status(),
            message: error.name().to_owned(),
        });
        error
    }

    /// The last stream that this side takes, fixed by the first GOAWAY.
    fn last_taken(&mut self) -> StreamId {
        *self.farewell.last_stream.get_or_insert(self.last_peer_id)
    }

    /// The transport is gone: nothing more is written.
    pub(crate) fn fail(&mut self) {
        self.close(ConnectionError::Closed);
        self.farewell.due = None;
        self.greeting_due = false;
        self.incoming = None;
        self.end_request = None;
        self.refusing_from = None;
        self.farewell.failed_from = 0;
    }

    pub(crate) fn poll_failed(&mut self) -> Option<(StreamHandle, Started)> {
        if self.state != ConnectionState::Closed {
            return None;
        }
        while self.farewell.failed_from < self.streams.slot_count() {
            let slot = self.farewell.failed_from;
            self.farewell.failed_from += 1;
            let stream = self.streams.at(slot);
            if stream.phase == Phase::Free {
                continue;
            }
            let handle = stream.handle(slot);
            let started = if self.is_dialer() {
                stream.started(self.submitted())
            } else {
                Started::Yes
            };
            let was_callers = stream.is_callers();
            self.discard_queue(slot);
            self.streams.remove(slot);
            if was_callers {
                self.stats.streams_ended += 1;
                return Some((handle, started));
            }
        }
        None
    }

    /// The peer takes no stream above `goaway.last_stream`.
    pub(crate) fn on_goaway(&mut self, goaway: &Goaway<'_>) -> Event<'static> {
        self.farewell.received = true;
        if self.state == State::Ready {
            self.state = State::Draining;
        }
        if self.is_dialer() {
            for slot in 0..self.streams.slot_count() {
                if self.streams.at(slot).id > goaway.last_stream {
                    self.refuse_by_goaway(slot);
                }
            }
            self.refusing_from = Some(0);
        }
        Event::Goaway {
            last_stream: goaway.last_stream,
            status: goaway.status,
        }
    }

    fn refuse_by_goaway(&mut self, slot: u32) {
        match self.streams.at(slot).phase {
            Phase::Queued | Phase::Open => {
                self.discard_queue(slot);
                self.streams.refuse(slot);
            }
            Phase::Tombstone => self.streams.remove(slot),
            Phase::Free | Phase::Refused | Phase::Ending => {}
        }
    }

    /// The next stream that GOAWAY refused.
    pub(crate) fn next_refused(&mut self) -> Option<Event<'static>> {
        let mut slot = self.refusing_from.take()?;
        while slot < self.streams.slot_count() {
            let stream = self.streams.at(slot);
            if stream.phase == Phase::Refused {
                let stream = stream.handle(slot);
                self.streams.remove(slot);
                self.stats.refused_goaway += 1;
                self.stats.streams_ended += 1;
                self.refusing_from = Some(slot + 1);
                return Some(Event::StreamRefused {
                    stream,
                    started: Started::No,
                });
            }
            slot += 1;
        }
        None
    }

    /// No stream is open any more and none will be.
    pub(crate) fn is_drained(&self) -> bool {
        (self.farewell.sent || self.farewell.received)
            && self.streams.busy() == 0
            && !self.wants_transmit()
    }
}

/// The first `max` bytes of a text, cut at a character.
pub(crate) fn cut_text(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
