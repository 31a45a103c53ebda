//! What received frames do to the connection (spec 9.2: every state and frame).

use std::time::Instant;

use super::ConnectionError;
use super::core::Core;
use super::error::FloodKind;
use super::event::{ConnectionState, Event, StreamHandle};
use super::framer::{Body, Framer, Step};
use super::streams::state::Phase;
use crate::frame::{Accept, Credit, End, Goaway, Kill, Open, Ping, Pong, Stop};
use crate::wire::{CREDIT_BYTES_MIN, FrameKind, Header};
use crate::{Started, StreamId};

/// A DATA whose payload is being received.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Incoming {
    /// Who gets it; `None` discards it.
    pub(crate) stream: Option<StreamHandle>,
    pub(crate) left: u16,
    pub(crate) message_len: u32,
    pub(crate) offset: u32,
    pub(crate) message_end: bool,
    pub(crate) end_request: bool,
    /// No message, just the end of the input.
    pub(crate) empty: bool,
}

/// What one step of reading led to.
pub(crate) enum Progress<'b> {
    /// The chunk is used up.
    Idle,
    /// Nothing to tell; go on.
    Again,
    Event(Event<'b>),
    /// An event that borrows the framer's buffer.
    Buffered(Token),
}

/// The part of such an event that is known already; the frame is read again from the buffer.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Token {
    Open {
        header: Header,
        stream: StreamHandle,
        credit: u32,
    },
    End {
        header: Header,
        stream: StreamHandle,
        started: Started,
    },
}

impl Token {
    pub(crate) fn event(self, body: &[u8]) -> Result<Event<'_>, ConnectionError> {
        Ok(match self {
            Self::Open {
                header,
                stream,
                credit,
            } => Event::Open {
                stream,
                open: Open::parse(header, body)?,
                credit,
            },
            Self::End {
                header,
                stream,
                started,
            } => Event::End {
                stream,
                end: End::parse(header, body)?,
                started,
            },
        })
    }
}

impl<P: AsRef<[u8]>> Core<P> {
    /// Takes the next piece or frame out of the chunk.
    pub(crate) fn advance<'b>(
        &mut self,
        framer: &mut Framer,
        now: Instant,
        chunk: &mut &'b [u8],
    ) -> Result<Progress<'b>, ConnectionError> {
        if self.incoming.is_some() {
            return Ok(self.piece(chunk));
        }
        let fragment_bytes_max = self.config.limits.fragment_bytes_max;
        match framer.next(chunk, fragment_bytes_max, self.preamble())? {
            Step::NeedMore => Ok(Progress::Idle),
            Step::Data {
                header,
                head,
                total,
            } => {
                self.stats.frames_received += 1;
                if let Some(event) = self.on_data(header, head, total)? {
                    return Ok(Progress::Event(event));
                }
                Ok(self.piece(chunk))
            }
            Step::Control { kind, header, body } => {
                self.stats.frames_received += 1;
                self.on_control(framer, now, kind, header, body)
            }
            Step::Unknown => {
                self.stats.frames_received += 1;
                self.stats.unknown_frames += 1;
                self.flood.unknown(now)?;
                Ok(Progress::Again)
            }
        }
    }

    fn on_control<'b>(
        &mut self,
        framer: &Framer,
        now: Instant,
        kind: FrameKind,
        header: Header,
        body: Body<'b>,
    ) -> Result<Progress<'b>, ConnectionError> {
        self.check_phase(kind)?;
        let bytes = match body {
            Body::Chunk(bytes) => bytes,
            Body::Buffered => framer.body(),
        };
        let id = header.stream;
        let event = match kind {
            FrameKind::Open => return self.on_open_frame(framer, now, header, body),
            FrameKind::End => return self.on_end_frame(framer, header, body),
            FrameKind::Hello => Some(self.on_hello(now, header, bytes)?),
            FrameKind::Welcome => Some(self.on_welcome(now, header, bytes)?),
            FrameKind::Accept => {
                Accept::parse(header, bytes)?;
                self.on_accept(id)?
            }
            FrameKind::Stop => {
                Stop::parse(header, bytes)?;
                self.on_stop(id)?
            }
            FrameKind::Kill => {
                Kill::parse(header, bytes)?;
                self.on_kill(now, id)?
            }
            FrameKind::Credit => {
                let credit = Credit::parse(header, bytes)?;
                self.on_credit(id, credit.bytes)?;
                None
            }
            FrameKind::Ping => {
                self.on_ping(now, Ping::parse(header, bytes)?)?;
                None
            }
            FrameKind::Pong => self.on_pong(now, Pong::parse(header, bytes)?),
            FrameKind::Goaway => self.on_goaway_frame(&Goaway::parse(header, bytes)?)?,
            FrameKind::Data => unreachable!("the framer gives DATA as Step::Data"),
        };
        Ok(event.map_or(Progress::Again, Progress::Event))
    }

    fn on_open_frame<'b>(
        &mut self,
        framer: &Framer,
        now: Instant,
        header: Header,
        body: Body<'b>,
    ) -> Result<Progress<'b>, ConnectionError> {
        let id = header.stream;
        let taken = match body {
            // Read once: the event borrows the chunk as the frame does.
            Body::Chunk(bytes) => {
                let open = Open::parse(header, bytes)?;
                let taken = self.on_open(now, id, &open)?;
                taken.map(|(stream, credit)| {
                    Progress::Event(Event::Open {
                        stream,
                        open,
                        credit,
                    })
                })
            }
            Body::Buffered => {
                let taken = self.on_open(now, id, &Open::parse(header, framer.body())?)?;
                taken.map(|(stream, credit)| {
                    Progress::Buffered(Token::Open {
                        header,
                        stream,
                        credit,
                    })
                })
            }
        };
        Ok(taken.unwrap_or(Progress::Again))
    }

    fn on_end_frame<'b>(
        &mut self,
        framer: &Framer,
        header: Header,
        body: Body<'b>,
    ) -> Result<Progress<'b>, ConnectionError> {
        let id = header.stream;
        let taken = match body {
            Body::Chunk(bytes) => {
                let end = End::parse(header, bytes)?;
                let taken = self.on_end(id, &end)?;
                taken.map(|(stream, started)| {
                    Progress::Event(Event::End {
                        stream,
                        end,
                        started,
                    })
                })
            }
            Body::Buffered => {
                let taken = self.on_end(id, &End::parse(header, framer.body())?)?;
                taken.map(|(stream, started)| {
                    Progress::Buffered(Token::End {
                        header,
                        stream,
                        started,
                    })
                })
            }
        };
        Ok(taken.unwrap_or(Progress::Again))
    }

    /// Before the handshake is done only its own frames may come; GOAWAY instead of WELCOME says
    /// why there will be none.
    fn check_phase(&self, kind: FrameKind) -> Result<(), ConnectionError> {
        let is_greeting = matches!(
            kind,
            FrameKind::Hello | FrameKind::Welcome | FrameKind::Goaway
        );
        if self.state == ConnectionState::Handshaking && !is_greeting {
            return Err(out_of_place(StreamId::CONNECTION, kind));
        }
        Ok(())
    }

    fn on_goaway_frame(
        &mut self,
        goaway: &Goaway<'_>,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        if self.state == ConnectionState::Handshaking {
            return Err(ConnectionError::PeerClosed(goaway.status));
        }
        self.flood_guard(self.farewell.received)?;
        Ok(Some(self.on_goaway(goaway)))
    }

    /// More to send with (spec 7.1).
    fn on_credit(&mut self, id: StreamId, bytes: u32) -> Result<(), ConnectionError> {
        if bytes < CREDIT_BYTES_MIN {
            self.flood_guard(true)?;
        }
        if id == StreamId::CONNECTION {
            if !self.send.grant(bytes) {
                return Err(ConnectionError::CreditOverflow { stream: id });
            }
            self.wake_waiting();
            return Ok(());
        }
        let Some(slot) = self.find(id, FrameKind::Credit)? else {
            return Ok(());
        };
        self.streams.sent.granted += u64::from(bytes);
        let stream = self.streams.at_mut(slot);
        if stream.phase == Phase::Queued {
            return Err(out_of_place(id, FrameKind::Credit));
        }
        if !stream.send.window.grant(bytes) {
            return Err(ConnectionError::CreditOverflow { stream: id });
        }
        let wanted = stream.send.wanted;
        if wanted > 0 && stream.send.window.credit() >= wanted {
            if self.send.credit() >= wanted {
                stream.send.wanted = 0;
                self.streams.ready.push(slot);
            } else {
                self.streams.waiting.push(slot);
            }
        }
        self.streams.activate(slot);
        Ok(())
    }

    /// Connection credit came: tells the streams that wait for it and have their own.
    fn wake_waiting(&mut self) {
        for _ in 0..self.streams.waiting.len() {
            let Some(slot) = self.streams.waiting.pop() else {
                return;
            };
            let credit = self.send.credit();
            let send = &mut self.streams.at_mut(slot).send;
            if send.wanted == 0 || send.window.credit() < send.wanted {
                // Nothing wanted, or the stream's own CREDIT will bring it back.
            } else if credit >= send.wanted {
                send.wanted = 0;
                self.streams.ready.push(slot);
            } else {
                self.streams.waiting.push(slot);
            }
        }
    }

    fn on_ping(&mut self, now: Instant, ping: Ping) -> Result<(), ConnectionError> {
        self.stats.pings_received += 1;
        self.flood.ping(now)?;
        if self.pongs.len() >= self.config.control_frames_queued_max {
            return Err(ConnectionError::Flood(FloodKind::UnreadReplies));
        }
        self.pongs.push_back(ping.payload);
        self.urgent = true;
        Ok(())
    }

    fn on_pong(&mut self, now: Instant, pong: Pong) -> Option<Event<'static>> {
        let rtt = self.keepalive.answered(pong.payload, now);
        self.stats.pongs_unmatched += u64::from(rtt.is_none());
        rtt.map(|rtt| Event::Pong { rtt })
    }

    /// The slot of a stream that a frame names; `None` if the stream is over.
    pub(crate) fn find(
        &mut self,
        id: StreamId,
        kind: FrameKind,
    ) -> Result<Option<u32>, ConnectionError> {
        if let Some(slot) = self.streams.by_id(id) {
            return Ok(Some(slot));
        }
        if !self.was_opened(id) {
            return Err(out_of_place(id, kind));
        }
        self.stats.late_frames += 1;
        Ok(None)
    }

    /// Counts a frame as carrying something or nothing.
    pub(crate) fn flood_guard(&mut self, is_empty: bool) -> Result<(), ConnectionError> {
        if is_empty {
            self.stats.empty_frames += 1;
            return self.flood.empty();
        }
        self.flood.useful();
        Ok(())
    }
}

pub(crate) fn out_of_place(stream: StreamId, kind: FrameKind) -> ConnectionError {
    ConnectionError::StreamState { stream, kind }
}
