//! ACCEPT, STOP, KILL and END: the frames that change what a stream is (spec 6.5 to 6.7).

use std::time::{Duration, Instant};

use super::ConnectionError;
use super::core::Core;
use super::event::{Event, StreamHandle};
use super::receive::out_of_place;
use super::streams::send::Sending;
use super::streams::state::Phase;
use crate::frame::End;
use crate::wire::FrameKind;
use crate::{Started, Status, StreamId};

/// A stream killed unanswered within this time of its OPEN was opened to be killed.
const CHURN_AGE: Duration = Duration::from_millis(100);

impl<P: AsRef<[u8]>> Core<P> {
    pub(crate) fn on_end(
        &mut self,
        id: StreamId,
        end: &End<'_>,
    ) -> Result<Option<(StreamHandle, Started)>, ConnectionError> {
        if !self.is_dialer() {
            return Err(out_of_place(id, FrameKind::End));
        }
        let Some(slot) = self.find(id, FrameKind::End)? else {
            return Ok(None);
        };
        self.flood.useful();
        let stream = self.streams.at(slot);
        let handle = stream.handle(slot);
        match stream.phase {
            Phase::Open => {
                let started = if stream.accepted {
                    Started::Yes
                } else {
                    rejected(end.status)
                };
                self.discard_queue(slot);
                self.streams.remove(slot);
                self.stats.streams_ended += 1;
                Ok(Some((handle, started)))
            }
            Phase::Tombstone => {
                self.streams.remove(slot);
                Ok(None)
            }
            // The caller hears that GOAWAY refused it.
            Phase::Refused => Ok(None),
            Phase::Queued | Phase::Ending | Phase::Free => Err(out_of_place(id, FrameKind::End)),
        }
    }

    pub(crate) fn on_accept(
        &mut self,
        id: StreamId,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        if !self.is_dialer() {
            return Err(out_of_place(id, FrameKind::Accept));
        }
        let Some(slot) = self.find(id, FrameKind::Accept)? else {
            return Ok(None);
        };
        let stream = self.streams.at_mut(slot);
        if stream.phase == Phase::Queued {
            return Err(out_of_place(id, FrameKind::Accept));
        }
        let handle = stream.handle(slot);
        let repeated = std::mem::replace(&mut stream.accepted, true);
        let is_open = stream.phase == Phase::Open;
        self.flood_guard(repeated)?;
        Ok((is_open && !repeated).then_some(Event::Accepted { stream: handle }))
    }

    pub(crate) fn on_stop(
        &mut self,
        id: StreamId,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        if self.is_dialer() {
            return Err(out_of_place(id, FrameKind::Stop));
        }
        let Some(slot) = self.find(id, FrameKind::Stop)? else {
            return Ok(None);
        };
        let stream = self.streams.at_mut(slot);
        let handle = stream.handle(slot);
        let repeated = std::mem::replace(&mut stream.stopped, true);
        let killed = stream.send.sending == Sending::Killed;
        let tells = stream.phase == Phase::Open && !repeated && !killed;
        self.flood_guard(repeated)?;
        Ok(tells.then_some(Event::Stop { stream: handle }))
    }

    pub(crate) fn on_kill(
        &mut self,
        now: Instant,
        id: StreamId,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        if self.is_dialer() {
            return Err(out_of_place(id, FrameKind::Kill));
        }
        let Some(slot) = self.find(id, FrameKind::Kill)? else {
            return Ok(None);
        };
        let stream = self.streams.at_mut(slot);
        let handle = stream.handle(slot);
        let repeated = stream.send.sending == Sending::Killed;
        let (answered, is_open) = (stream.send.started, stream.phase == Phase::Open);
        let opened_at = stream.opened_at;
        self.flood_guard(repeated)?;
        if repeated {
            return Ok(None);
        }
        // A stream that was given time is no churn: many may be dropped together while they wait.
        let is_young = now.saturating_duration_since(opened_at) < CHURN_AGE;
        if !answered && is_young {
            self.stats.churned_streams += 1;
            self.flood.churn(now)?;
        }
        self.discard_queue(slot);
        let stream = self.streams.at_mut(slot);
        stream.send.sending = Sending::Killed;
        stream.send.wanted = 0;
        stream.due.credit = false;
        self.streams.ready.remove(slot);
        self.streams.waiting.remove(slot);
        // With the queue gone, an END behind it can be written.
        self.streams.signal(slot);
        self.stats.streams_killed += 1;
        Ok(is_open.then_some(Event::Kill { stream: handle }))
    }
}

/// Whether a stream that ended without ACCEPT had started: a typed rejection says that it had not
/// (spec 10.3).
fn rejected(status: Status) -> Started {
    match status {
        Status::Ok | Status::Application | Status::HandlerPanicked => Started::Yes,
        Status::Overloaded
        | Status::Draining
        | Status::UnknownEndpoint
        | Status::StaleInstance
        | Status::Unauthorized
        | Status::TooLarge
        | Status::InvalidRequest => Started::No,
        _ => Started::Unknown,
    }
}
