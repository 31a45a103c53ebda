//! Calls whose responses are passed on.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ringmain_codec::{RequestId, Started, Status};
use ringmain_shard::{ShardCtx, Sleep};

use super::sink::LocalRequestSink;
use super::stream::Reader;
use crate::calls::{Piece, Terminal};
use crate::driver::Driver;
use crate::end::EndInfo;
use crate::error::{CallError, StreamError};
use crate::home::shards::LocalHost;

/// One call, from its first pick to its terminal, for a task that passes the response on.
///
/// Pieces go straight to the [`Forward`](crate::Forward) that the call was made with; what it did
/// not take waits here, and holds its credit until the task has moved it and given the credit
/// back. Dropping the call drops the stream at the responder (KILL), unless it has ended.
pub struct ForwardCall {
    ctx: ShardCtx,
    request_id: RequestId,
    queue_bytes_max: usize,
    stopped: bool,
    state: State,
}

enum State {
    Calling {
        driver: Box<Driver<LocalHost>>,
        deadline: Option<Sleep>,
    },
    Open(Reader),
    Over,
}

/// What became of the oldest waiting piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "taken pieces owe credit"]
pub enum Waiting {
    /// Nothing waits.
    Nothing,
    /// It was not taken, and still waits.
    Refused,
    /// It was taken; give `credit` back once it is out of the way.
    Taken {
        /// What the piece cost.
        credit: u32,
    },
}

/// How a call that is passed on ended: all that its responder said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardEnd {
    /// Status, text and trailers.
    pub info: EndInfo,
    /// Whether the handler had been called.
    pub started: Started,
    /// Name of the limit that was hit, if one was.
    pub limit: Option<String>,
    /// When to try again, if the responder said so.
    pub retry_after: Option<Duration>,
}

impl ForwardEnd {
    fn new(end: Terminal) -> Self {
        let Terminal {
            info,
            started,
            limit,
            retry_after,
            ..
        } = end;
        Self {
            info,
            started,
            limit,
            retry_after,
        }
    }
}

impl From<CallError> for ForwardEnd {
    fn from(error: CallError) -> Self {
        let (status, started) = (error.status(), error.started());
        match error {
            CallError::Rejected(error) => Self {
                info: EndInfo::new(status, error.message),
                started,
                limit: error.limit,
                retry_after: error.retry_after,
            },
            CallError::Overloaded { limit } => Self {
                info: EndInfo::new(status, error.to_string()),
                started,
                limit: Some(limit.to_owned()),
                retry_after: None,
            },
            error => Self {
                info: EndInfo::new(status, error.to_string()),
                started,
                limit: None,
                retry_after: None,
            },
        }
    }
}

impl ForwardCall {
    pub(super) fn new(
        host: LocalHost,
        request: std::sync::Arc<crate::call::Request>,
        queue_bytes_max: usize,
    ) -> Self {
        let ctx = host.ctx.clone();
        let deadline = request.deadline.map(|deadline| ctx.sleep_until(deadline));
        Self {
            request_id: request.request_id,
            queue_bytes_max,
            stopped: false,
            state: State::Calling {
                driver: Box::new(Driver::new(host, request)),
                deadline,
            },
            ctx,
        }
    }

    /// Completes when the responder takes the request. To be asked before all that follows.
    ///
    /// # Errors
    ///
    /// Nobody took the request; the error says why and whether a handler may have started. Not to
    /// be polled again then.
    pub fn poll_accepted(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let State::Calling { driver, deadline } = &mut self.state else {
            return Poll::Ready(match self.state {
                State::Open(_) => Ok(()),
                _ => Err(CallError::Closed),
            });
        };
        let stopped = self.stopped;
        // Nobody has it, so there is nobody to finish early.
        let is_over = |driver: &Driver<LocalHost>| stopped && driver.accepting().is_none();
        let polled = match is_over(driver) {
            true => Poll::Pending,
            false => driver.poll(cx),
        };
        let polled = match polled {
            Poll::Pending if is_over(driver) => {
                let error = StreamError::new(Status::Cancelled, Started::No, "");
                Poll::Ready(Err(CallError::Rejected(error)))
            }
            Poll::Pending => {
                let late = deadline.as_mut().map(|sleep| Pin::new(sleep).poll(cx));
                match late {
                    Some(Poll::Ready(())) => Poll::Ready(Err(driver.deadline_error())),
                    _ => Poll::Pending,
                }
            }
            ready => ready,
        };
        match polled {
            Poll::Pending => {
                // Another instance may have been asked meanwhile.
                self.tell_stop();
                Poll::Pending
            }
            Poll::Ready(Ok(opened)) => {
                let reader = Reader::new(self.ctx.clone(), opened, self.request_id);
                self.state = State::Open(reader);
                self.tell_stop();
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => {
                self.state = State::Over;
                Poll::Ready(Err(error))
            }
        }
    }

    /// Asks the responder to finish early. A call that nobody has been asked yet ends as
    /// `cancelled` when it is polled next.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.tell_stop();
    }

    /// The sink of a streamed request; nothing before the responder took the call.
    pub fn request_sink(&self) -> Option<LocalRequestSink> {
        match &self.state {
            State::Open(reader) => Some(LocalRequestSink::new(
                &self.ctx,
                &reader.link,
                reader.key,
                self.queue_bytes_max,
            )),
            _ => None,
        }
    }

    /// Offers the oldest piece that waits. `take` must not use this call's client.
    pub fn offer_waiting(&mut self, take: impl FnOnce(&Piece) -> bool) -> Waiting {
        let State::Open(reader) = &self.state else {
            return Waiting::Nothing;
        };
        let mut calls = reader.link.calls().borrow_mut();
        match calls.pop_piece_value_if(reader.key, take) {
            None => Waiting::Nothing,
            Some(None) => Waiting::Refused,
            Some(Some(credit)) => Waiting::Taken { credit },
        }
    }

    /// Returns credit of pieces that were taken.
    pub fn give_back(&self, credit: u32) {
        if let State::Open(reader) = &self.state {
            reader.give_back(credit);
        }
    }

    /// The terminal, which may come while pieces still wait; else remembers to wake the task for
    /// it, and for pieces that must wait.
    pub fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<ForwardEnd> {
        let State::Open(reader) = &mut self.state else {
            return Poll::Ready(CallError::Closed.into());
        };
        let polled = reader
            .link
            .calls()
            .borrow_mut()
            .poll_end::<()>(reader.key, cx);
        match polled {
            Poll::Ready(Err(end)) => Poll::Ready(ForwardEnd::new(end)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }

    /// The request's id across hops.
    pub const fn request_id(&self) -> RequestId {
        self.request_id
    }

    fn tell_stop(&self) {
        if !self.stopped {
            return;
        }
        match &self.state {
            State::Calling { driver, .. } => {
                if let Some((link, key)) = driver.accepting() {
                    link.with(&self.ctx, |calls, link| calls.stop(key, link));
                }
            }
            State::Open(reader) => reader.stop(),
            State::Over => {}
        }
    }
}

impl std::fmt::Debug for ForwardCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForwardCall")
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}
