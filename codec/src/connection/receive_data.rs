//! OPEN and DATA: the frames that carry payload and use credit (spec 6.1, 6.2 and 7).

use std::time::Instant;

use super::ConnectionError;
use super::core::Core;
use super::event::{Event, StreamHandle};
use super::receive::{Incoming, Progress, out_of_place};
use super::streams::recv::Incoming as Message;
use super::streams::state::Phase;
use crate::frame::{DataHead, Open};
use crate::wire::{DATA_FRAME_COST_BYTES, FrameKind, Header};
use crate::{Status, StreamId};

impl<P: AsRef<[u8]>> Core<P> {
    /// A new stream. `None` when it is not for the caller: refused, or after GOAWAY.
    pub(crate) fn on_open(
        &mut self,
        now: Instant,
        id: StreamId,
        open: &Open<'_>,
    ) -> Result<Option<(StreamHandle, u32)>, ConnectionError> {
        if self.is_dialer() || id <= self.last_peer_id {
            return Err(out_of_place(id, FrameKind::Open));
        }
        self.last_peer_id = id;
        self.flood.useful();
        let limits = self.config.limits;
        let Some(cost) = u32::try_from(open.request.len()).ok() else {
            unreachable!("a control frame is shorter than 16 KiB")
        };
        if !self.recv.try_use(cost) {
            return Err(ConnectionError::CreditExceeded {
                stream: StreamId::CONNECTION,
            });
        }
        self.recv.give_back(cost);
        if self.farewell.sent {
            // The dialer learns from GOAWAY that it was not taken.
            self.stats.opens_after_goaway += 1;
            return Ok(None);
        }
        if self.streams.used() >= limits.streams_max as usize {
            return Err(ConnectionError::StreamsExceeded {
                max: limits.streams_max,
            });
        }
        let send_credit = self.peer.map_or(0, |peer| peer.limits.stream_window);
        if self.streams.used() == 0 {
            self.keepalive.activated(now);
        }
        let slot = self
            .streams
            .insert(id, Phase::Open, send_credit, limits.stream_window, now);
        self.stats.streams_opened += 1;
        let stream = self.streams.at_mut(slot);
        stream.priority = open.priority;
        let handle = stream.handle(slot);
        if !stream.recv.window.try_use(cost) {
            return Err(ConnectionError::CreditExceeded { stream: id });
        }
        let len = open.request_len.unwrap_or(0);
        stream.recv.message = open.has_more().then_some(Message { len, offset: cost });
        stream.recv.ended = open.end_request;
        self.streams.received.used += u64::from(cost);
        if len > limits.message_bytes_max {
            self.refuse(slot);
            return Ok(None);
        }
        if open.end_request {
            self.end_request = Some(handle);
        }
        Ok(Some((handle, cost)))
    }

    /// The head of a DATA: takes its credit, finds its stream and its place in the message.
    pub(crate) fn on_data(
        &mut self,
        header: Header,
        head: DataHead,
        total: Option<u32>,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        let id = header.stream;
        self.check_data_phase(id)?;
        self.stats.data_frames_received += 1;
        self.stats.data_bytes_received += u64::from(head.payload_len);
        let cost = head.cost();
        if !self.recv.try_use(cost) {
            return Err(ConnectionError::CreditExceeded {
                stream: StreamId::CONNECTION,
            });
        }
        let mut incoming = Incoming {
            stream: None,
            left: head.payload_len,
            message_len: u32::from(head.payload_len),
            offset: 0,
            message_end: !head.more,
            end_request: head.end_request,
            empty: head.empty,
        };
        self.incoming = Some(incoming);
        self.flood_guard(head.payload_len == 0 && !head.end_request)?;
        let Some(slot) = self.find(id, FrameKind::Data)? else {
            return Ok(None);
        };
        let is_dialer = self.is_dialer();
        let stream = self.streams.at_mut(slot);
        if !stream.recv.window.try_use(cost) {
            return Err(ConnectionError::CreditExceeded { stream: id });
        }
        self.streams.received.used += u64::from(cost);
        let stream = self.streams.at_mut(slot);
        let is_input_over = if is_dialer {
            head.end_request
        } else {
            stream.recv.ended
        };
        if is_input_over || stream.phase == Phase::Queued {
            return Err(out_of_place(id, FrameKind::Data));
        }
        if !stream.takes_data() {
            return Ok(None);
        }
        // The dialer's side of ACCEPT: DATA implies it.
        stream.accepted |= is_dialer;
        stream.recv.ended = head.end_request;
        let handle = stream.handle(slot);
        if head.empty {
            if stream.recv.message.is_some() {
                return Err(out_of_place(id, FrameKind::Data));
            }
        } else {
            let place = stream
                .recv
                .place(u32::from(head.payload_len), total, head.more)
                .map_err(|reason| ConnectionError::BadFrame {
                    kind: FrameKind::Data,
                    reason,
                })?;
            incoming.message_len = place.message_len;
            incoming.offset = place.offset;
            if place.message_len > self.config.limits.message_bytes_max {
                self.refuse(slot);
                return Ok(Some(Event::Refused {
                    stream: handle,
                    status: Status::TooLarge,
                }));
            }
        }
        incoming.stream = Some(handle);
        self.incoming = Some(incoming);
        Ok(None)
    }

    /// The short way of most DATA: one whole message, all of it in the chunk, for a stream that
    /// takes it and has credit for it. Anything else is `None` and goes the long way, which also
    /// says what is wrong with it.
    #[inline]
    pub(crate) fn whole_message<'b>(&mut self, chunk: &mut &'b [u8]) -> Option<Event<'b>> {
        let (header, rest) = Header::split_first(chunk)?;
        let limits = &self.config.limits;
        if header.kind != FrameKind::Data.code()
            || header.flags != 0
            || header.len == 0
            || header.len > limits.fragment_bytes_max
            || u32::from(header.len) > limits.message_bytes_max
        {
            return None;
        }
        let (piece, rest) = rest.split_at_checked(usize::from(header.len))?;
        let slot = self.streams.by_id(header.stream)?;
        let is_dialer = self.config.is_dialer();
        let (stream, received) = self.streams.receiving(slot);
        let len = u32::from(header.len);
        let cost = len + DATA_FRAME_COST_BYTES;
        let takes_message =
            stream.takes_data() && !stream.recv.ended && stream.recv.message.is_none();
        let has_credit = self
            .recv
            .window
            .available()
            .min(stream.recv.window.available())
            >= cost;
        if !takes_message || !has_credit || !stream.recv.window.try_use(cost) {
            return None;
        }
        stream.accepted |= is_dialer;
        received.used += u64::from(cost);
        self.recv.pass(cost);
        self.flood.useful();
        self.stats.frames_received += 1;
        self.stats.data_frames_received += 1;
        self.stats.data_bytes_received += u64::from(len);
        *chunk = rest;
        Some(Event::Data {
            stream: StreamHandle {
                id: header.stream,
                slot,
            },
            piece,
            message_len: Some(len),
            message_offset: 0,
            frame_end: true,
            message_end: true,
            credit: cost,
        })
    }

    fn check_data_phase(&self, id: StreamId) -> Result<(), ConnectionError> {
        if self.peer.is_none() {
            return Err(out_of_place(id, FrameKind::Data));
        }
        Ok(())
    }

    /// As much of the payload as the chunk has. Connection credit comes back at once: the caller
    /// takes the piece out of the receive path, or it is discarded (spec 7.4 and 7.4.1).
    pub(crate) fn piece<'b>(&mut self, chunk: &mut &'b [u8]) -> Progress<'b> {
        let Some(incoming) = &mut self.incoming else {
            return Progress::Again;
        };
        let len = incoming
            .left
            .min(u16::try_from(chunk.len()).unwrap_or(u16::MAX));
        if len == 0 && incoming.left > 0 {
            return Progress::Idle;
        }
        let (piece, rest) = chunk.split_at(usize::from(len));
        *chunk = rest;
        incoming.left -= len;
        let now = *incoming;
        incoming.offset += u32::from(len);
        let frame_end = now.left == 0;
        let mut credit = u32::from(len);
        if frame_end {
            credit += DATA_FRAME_COST_BYTES;
            self.incoming = None;
        }
        self.recv.give_back(credit);
        let Some(stream) = now.stream.filter(|stream| self.takes_data(*stream)) else {
            self.stats.late_data_bytes += u64::from(len);
            return Progress::Again;
        };
        if frame_end && now.end_request {
            self.end_request = Some(stream);
        }
        if now.empty {
            self.release(stream, credit);
            return Progress::Again;
        }
        Progress::Event(Event::Data {
            stream,
            piece,
            message_len: Some(now.message_len),
            message_offset: now.offset,
            frame_end,
            message_end: frame_end && now.message_end,
            credit,
        })
    }

    fn takes_data(&self, handle: StreamHandle) -> bool {
        self.streams
            .find(handle)
            .is_some_and(|slot| self.streams.at(slot).takes_data())
    }

    /// A message over `message_bytes_max`: ends this stream alone and tells the peer.
    fn refuse(&mut self, slot: u32) {
        self.stats.refused_too_large += 1;
        if self.is_dialer() {
            self.bury(slot);
        } else {
            let end = super::params::EndParams::new(Status::TooLarge);
            let end = super::params::EndParams {
                limit: Some("message_bytes_max"),
                discard_queued: true,
                ..end
            };
            self.end_slot(slot, &end);
        }
        self.stats.streams_ended += 1;
    }
}
