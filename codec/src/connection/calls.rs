//! What the caller does with streams.

use std::time::Instant;

use super::close::cut_text;
use super::core::Core;
use super::event::{ConnectionState, StreamHandle};
use super::params::{EndParams, OpenParams};
use super::streams::send::Sending;
use super::streams::state::{Due, OpenFields, Phase};
use super::{OpenError, SendError};
use crate::EndpointId;
use crate::frame::End;
use crate::wire::{Extensions, OutBuf, TEXT_BYTES_MAX};

impl<P: AsRef<[u8]>> Core<P> {
    pub(crate) fn open(
        &mut self,
        now: Instant,
        open: &OpenParams<'_>,
        request: Option<P>,
        end_request: bool,
    ) -> Result<StreamHandle, OpenError> {
        let (Some(peer), true) = (self.peer, self.is_dialer()) else {
            return Err(OpenError::NotReady);
        };
        match self.state {
            ConnectionState::Handshaking => return Err(OpenError::NotReady),
            ConnectionState::Closed => return Err(OpenError::Closed),
            ConnectionState::Draining => return Err(OpenError::Draining),
            ConnectionState::Ready => {}
        }
        EndpointId::check(open.endpoint.as_bytes()).map_err(|_| OpenError::Endpoint)?;
        let max = peer.limits.message_bytes_max;
        let len = request.as_ref().map_or(0, |request| request.as_ref().len());
        let message_len = u32::try_from(len).ok().filter(|len| *len <= max);
        let Some(message_len) = message_len else {
            self.stats.send_too_large += 1;
            return Err(OpenError::TooLarge { len, max });
        };
        let max = peer.limits.streams_max;
        if self.streams.used() >= max as usize {
            self.stats.streams_max_hits += 1;
            return Err(OpenError::StreamsMax { max });
        }
        let id = self.next_id.ok_or(OpenError::IdsExhausted)?;
        self.next_id = id.next();
        if self.streams.used() == 0 {
            self.keepalive.activated(now);
        }
        let window = self.config.limits.stream_window;
        let slot = self
            .streams
            .insert(id, Phase::Queued, peer.limits.stream_window, window, now);
        let stream = self.streams.at_mut(slot);
        stream.priority = open.priority;
        stream.text.extend_from_slice(open.endpoint.as_bytes());
        stream.text.extend_from_slice(open.metadata.as_bytes());
        stream.open = Some(OpenFields {
            request_id: open.request_id,
            deadline: open.deadline.and_then(|left| now.checked_add(left)),
            trace: open.trace,
            endpoint_len: open.endpoint.len(),
        });
        if let Some(request) = request {
            stream.send.push_message(request, message_len);
        }
        if end_request {
            stream.send.sending = Sending::Finished;
            stream.due.end_request = true;
        }
        let handle = stream.handle(slot);
        self.streams.push_open(handle);
        self.stats.streams_opened += 1;
        self.urgent = true;
        Ok(handle)
    }

    pub(crate) fn stop(&mut self, handle: StreamHandle) {
        if !self.is_dialer() {
            return;
        }
        let Some(stream) = self.streams.callers(handle) else {
            return;
        };
        if stream.phase == Phase::Refused || std::mem::replace(&mut stream.stopped, true) {
            return;
        }
        stream.due.stop = true;
        self.streams.signal(handle.slot);
        self.urgent = true;
    }

    pub(crate) fn kill(&mut self, handle: StreamHandle) {
        if !self.is_dialer() || self.streams.callers(handle).is_none() {
            return;
        }
        self.stats.streams_killed += 1;
        self.stats.streams_ended += 1;
        self.bury(handle.slot);
    }

    /// Dialer: takes the stream from the caller and has KILL sent, unless the peer does not know
    /// the stream.
    pub(crate) fn bury(&mut self, slot: u32) {
        self.discard_queue(slot);
        let is_known = self.streams.at(slot).phase == Phase::Open;
        if !is_known || self.state == ConnectionState::Closed {
            self.streams.remove(slot);
            return;
        }
        self.streams.retire(slot, Phase::Tombstone);
        self.streams.at_mut(slot).due = Due {
            kill: true,
            ..Due::default()
        };
        self.streams.signal(slot);
        self.urgent = true;
    }

    pub(crate) fn finish(&mut self, handle: StreamHandle) {
        if !self.is_dialer() {
            return;
        }
        let Some(stream) = self.streams.callers(handle) else {
            return;
        };
        if stream.send.sending != Sending::Open || stream.phase == Phase::Refused {
            return;
        }
        stream.send.sending = Sending::Finished;
        stream.due.end_request = true;
        self.streams.activate(handle.slot);
    }

    pub(crate) fn accept(&mut self, handle: StreamHandle) {
        if self.is_dialer() {
            return;
        }
        let Some(stream) = self.streams.callers(handle) else {
            return;
        };
        if std::mem::replace(&mut stream.accepted, true) {
            return;
        }
        stream.due.accept = true;
        self.streams.signal(handle.slot);
        self.urgent = true;
    }

    pub(crate) fn end(&mut self, handle: StreamHandle, end: &EndParams<'_>) {
        if self.is_dialer() || self.streams.callers(handle).is_none() {
            return;
        }
        self.stats.streams_ended += 1;
        self.end_slot(handle.slot, end);
    }

    /// Acceptor: takes the stream from the caller and has END sent behind what is queued.
    pub(crate) fn end_slot(&mut self, slot: u32, end: &EndParams<'_>) {
        let frame = End {
            status: end.status,
            message: cut_text(end.message, TEXT_BYTES_MAX),
            trailers: end.trailers,
            retry_after: end.retry_after,
            limit: end.limit.map(|limit| cut_text(limit, End::LIMIT_BYTES_MAX)),
            extensions: Extensions::EMPTY,
        };
        self.stats.texts_cut += u64::from(frame.message.len() < end.message.len());
        let stream = self.streams.at(slot);
        if end.discard_queued || stream.send.sending == Sending::Killed {
            self.discard_queue(slot);
        }
        if self.state == ConnectionState::Closed {
            self.streams.remove(slot);
            return;
        }
        self.streams.retire(slot, Phase::Ending);
        let stream = self.streams.at_mut(slot);
        let len = frame.encoded_len();
        stream.text.clear();
        stream.text.reserve(len);
        let Ok(()) = frame.encode(stream.id, &mut OutBuf::new(&mut stream.text, len)) else {
            unreachable!("texts are cut, and the parts of END together are below its limit")
        };
        stream.due.end = true;
        stream.due.credit = false;
        self.streams.signal(slot);
        self.urgent = true;
    }

    pub(crate) fn send(&mut self, handle: StreamHandle, message: P) -> Result<(), SendError> {
        let len = message.as_ref().len();
        self.check_send(handle, false)?;
        let message_len = self.check_message_len(len)?;
        self.check_queue(handle.slot, len)?;
        self.streams
            .at_mut(handle.slot)
            .send
            .push_message(message, message_len);
        self.queued(handle.slot);
        Ok(())
    }

    pub(crate) fn send_fragment(
        &mut self,
        handle: StreamHandle,
        fragment: P,
        message_len: u32,
        message_end: bool,
    ) -> Result<(), SendError> {
        let len = fragment.as_ref().len();
        self.check_send(handle, true)?;
        self.check_message_len(message_len as usize)?;
        let stream = self.streams.at(handle.slot);
        let (outgoing, next) = stream.send.next_fragment(len, message_len, message_end)?;
        self.check_queue(handle.slot, len)?;
        let send = &mut self.streams.at_mut(handle.slot).send;
        send.push_fragment(fragment, outgoing, message_end);
        send.fragments = next;
        self.queued(handle.slot);
        Ok(())
    }

    fn queued(&mut self, slot: u32) {
        let started = std::mem::replace(&mut self.streams.at_mut(slot).send.started, true);
        self.urgent |= !started;
        self.streams.activate(slot);
    }

    /// Whether the caller may send on the stream.
    pub(crate) fn check_send(
        &mut self,
        handle: StreamHandle,
        is_fragment: bool,
    ) -> Result<(), SendError> {
        let is_closed = self.state == ConnectionState::Closed;
        let Some(stream) = self.streams.callers(handle) else {
            return Err(SendError::Gone);
        };
        if stream.phase == Phase::Refused || is_closed {
            return Err(SendError::Gone);
        }
        let in_fragments = stream.send.fragments.is_some();
        match stream.send.sending {
            Sending::Killed => Err(SendError::Killed),
            Sending::Finished if !(is_fragment && in_fragments) => Err(SendError::Finished),
            _ if in_fragments && !is_fragment => Err(SendError::Fragment),
            _ => Ok(()),
        }
    }

    pub(crate) fn check_message_len(&mut self, len: usize) -> Result<u32, SendError> {
        let max = self.sending.message_bytes_max;
        match u32::try_from(len) {
            Ok(len) if len <= max => Ok(len),
            _ => {
                self.stats.send_too_large += 1;
                Err(SendError::TooLarge { len, max })
            }
        }
    }

    fn check_queue(&mut self, slot: u32, len: usize) -> Result<(), SendError> {
        let send = &self.streams.at(slot).send;
        let max = self.config.queue_bytes_max;
        if send.is_queue_empty() || send.queued_bytes().saturating_add(len) <= max {
            return Ok(());
        }
        self.stats.queue_full += 1;
        Err(SendError::QueueFull)
    }

    pub(crate) fn release(&mut self, handle: StreamHandle, credit: u32) {
        let Some(slot) = self.streams.find(handle) else {
            return;
        };
        let stream = self.streams.at_mut(slot);
        if !stream.takes_data() {
            return;
        }
        let returned = credit.min(stream.recv.window.held());
        self.stats.release_excess += u64::from(credit - returned);
        stream.recv.window.give_back(returned);
        self.streams.received.returned += u64::from(returned);
        let stream = self.streams.at_mut(slot);
        if stream.recv.window.is_due() && !stream.recv.ended && !stream.due.credit {
            stream.due.credit = stream.send.sending != Sending::Killed;
            self.streams.signal(slot);
        }
    }
}
