//! One call from its first pick to the moment the responder takes it.
//!
//! ```text
//!  Choose ──> Linking ──> Accepting ──> done
//!    ^ │ watch   │ dial failed   │ turned away, not started
//!    └─┴─────────┴───────────────┘ the next instance, each at most once
//! ```
//!
//! The same machine runs in both homes; a [`Host`] is how it reaches pool and links.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use ringmain_codec::{InstanceId, OpenError, Started, Status};
use ringmain_discovery::{Snapshot, SnapshotHandle, WaitFor};

use crate::call::Request;
use crate::calls::{StreamKey, Terminal};
use crate::error::{CallError, ConnectErrorKind, StreamError};
use crate::pool::{Acquired, Chosen, DialFailure, PeerKey, Pool, WaitKey};
use crate::source::{Watches, Watching};

/// Where links live, as a call needs it.
pub(crate) trait Host {
    /// A name of a link.
    type Link: Clone + PartialEq;

    fn now(&self) -> Instant;

    fn watches(&self) -> &Watches;

    /// Runs `f` on the pool; afterwards the home does what the pool asks for.
    fn with_pool<R>(&self, f: impl FnOnce(&mut Pool<Self::Link>) -> R) -> R;

    /// Opens a stream for the request and sets its deadline's timer.
    fn open(&self, link: &Self::Link, request: &Request) -> Result<StreamKey, OpenError>;

    fn poll_accepted(
        &self,
        link: &Self::Link,
        stream: StreamKey,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Terminal>>;

    /// Kills the stream if it is open, and forgets it.
    fn release(&self, link: &Self::Link, stream: StreamKey);
}

/// A stream that its responder has taken (or ended well).
#[derive(Debug)]
pub(crate) struct Opened<L> {
    pub(crate) link: L,
    pub(crate) stream: StreamKey,
    pub(crate) instance: InstanceId,
}

/// The machine. Dropping it before it is done leaves nothing behind: a wait is cancelled, an open
/// stream killed.
pub(crate) struct Driver<H: Host> {
    host: H,
    request: Arc<Request>,
    tried: Vec<InstanceId>,
    /// Why the last instance that was tried did not take the call.
    last: Option<CallError>,
    state: State<H::Link>,
}

enum State<L> {
    Choose,
    Watching(Watching),
    Reading(WaitFor<fn(&Snapshot) -> bool>),
    Linking {
        peer: PeerKey,
        wait: WaitKey,
        instance: InstanceId,
    },
    Accepting {
        link: L,
        stream: StreamKey,
        peer: PeerKey,
        instance: InstanceId,
    },
    Done,
}

enum Step<L> {
    Go(State<L>),
    Pending(State<L>),
    Done(Result<Opened<L>, CallError>),
}

impl<H: Host> Driver<H> {
    pub(crate) const fn new(host: H, request: Arc<Request>) -> Self {
        Self {
            host,
            request,
            tried: Vec::new(),
            last: None,
            state: State::Choose,
        }
    }

    /// The stream that waits for its responder to take the request.
    pub(crate) const fn accepting(&self) -> Option<(&H::Link, StreamKey)> {
        match &self.state {
            State::Accepting { link, stream, .. } => Some((link, *stream)),
            _ => None,
        }
    }

    /// What the deadline's passing means at this point.
    pub(crate) fn deadline_error(&self) -> CallError {
        let (started, instance) = match &self.state {
            State::Accepting { instance, .. } => (Started::Unknown, Some(*instance)),
            State::Linking { instance, .. } => (Started::No, Some(*instance)),
            _ => (Started::No, self.tried.last().copied()),
        };
        CallError::DeadlineExceeded { started, instance }
    }

    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Opened<H::Link>, CallError>> {
        loop {
            let state = std::mem::replace(&mut self.state, State::Done);
            match self.step(state, cx) {
                Step::Go(state) => self.state = state,
                Step::Pending(state) => {
                    self.state = state;
                    return Poll::Pending;
                }
                Step::Done(result) => return Poll::Ready(result),
            }
        }
    }

    fn step(&mut self, state: State<H::Link>, cx: &mut Context<'_>) -> Step<H::Link> {
        match state {
            State::Choose => self.choose(),
            State::Watching(mut watching) => match watching.as_mut().poll(cx) {
                Poll::Pending => Step::Pending(State::Watching(watching)),
                Poll::Ready(watched) => {
                    let kept = self.host.watches().keep(&self.request.endpoint, watched);
                    self.follow(kept)
                }
            },
            State::Reading(mut reading) => match Pin::new(&mut reading).poll(cx) {
                Poll::Pending => Step::Pending(State::Reading(reading)),
                Poll::Ready(Ok(_)) => Step::Go(State::Choose),
                Poll::Ready(Err(_)) => Step::Done(Err(self.nobody())),
            },
            State::Linking {
                peer,
                wait,
                instance,
            } => match self.host.with_pool(|pool| pool.poll_wait(wait, cx)) {
                Poll::Pending => Step::Pending(State::Linking {
                    peer,
                    wait,
                    instance,
                }),
                Poll::Ready(Some(Ok(link))) => self.open(link, peer, instance),
                Poll::Ready(Some(Err(failure))) => {
                    self.next(instance, failure.into_error(instance))
                }
                Poll::Ready(None) => Step::Done(Err(CallError::Closed)),
            },
            State::Accepting {
                link,
                stream,
                peer,
                instance,
            } => match self.host.poll_accepted(&link, stream, cx) {
                Poll::Pending => Step::Pending(State::Accepting {
                    link,
                    stream,
                    peer,
                    instance,
                }),
                Poll::Ready(Ok(())) => Step::Done(Ok(Opened {
                    link,
                    stream,
                    instance,
                })),
                Poll::Ready(Err(end)) => {
                    self.host.release(&link, stream);
                    self.refused(&end, instance)
                }
            },
            State::Done => Step::Done(Err(CallError::Closed)),
        }
    }

    fn choose(&mut self) -> Step<H::Link> {
        let now = self.host.now();
        let (request, tried) = (&*self.request, &*self.tried);
        match self.host.with_pool(|pool| pool.choose(now, request, tried)) {
            Ok(Chosen::Peer(peer, instance)) => {
                match self.host.with_pool(|pool| pool.acquire(peer)) {
                    Ok(Acquired::Ready(link)) => self.open(link, peer, instance),
                    Ok(Acquired::Wait(wait)) => Step::Go(State::Linking {
                        peer,
                        wait,
                        instance,
                    }),
                    Err(error) => Step::Done(Err(error)),
                }
            }
            Ok(Chosen::NotFollowed) => match self.host.watches().known(&self.request.endpoint) {
                Some(handle) => self.follow(Ok(handle)),
                None => Step::Go(State::Watching(
                    self.host.watches().watch(&self.request.endpoint),
                )),
            },
            Ok(Chosen::NotRead(handle)) => {
                let is_read: fn(&Snapshot) -> bool = |snapshot| snapshot.version() > 0;
                Step::Go(State::Reading(handle.wait_for(is_read)))
            }
            // Everybody was asked: what the last one said is the better answer.
            Err(CallError::NoInstances { .. }) => Step::Done(Err(self.nobody())),
            Err(error) => Step::Done(Err(error)),
        }
    }

    fn follow(&self, handle: Result<SnapshotHandle, CallError>) -> Step<H::Link> {
        let endpoint = &self.request.endpoint;
        let followed =
            handle.and_then(|handle| self.host.with_pool(|pool| pool.follow(endpoint, &handle)));
        match followed {
            Ok(()) => Step::Go(State::Choose),
            Err(error) => Step::Done(Err(error)),
        }
    }

    fn open(&mut self, link: H::Link, peer: PeerKey, instance: InstanceId) -> Step<H::Link> {
        let now = self.host.now();
        if self
            .request
            .deadline
            .is_some_and(|deadline| deadline <= now)
        {
            let started = Started::No;
            let instance = Some(instance);
            return Step::Done(Err(CallError::DeadlineExceeded { started, instance }));
        }
        let rejected = |status: Status, limit: &str, message: String| {
            let error = StreamError::new(status, Started::No, message)
                .at(instance)
                .limit(limit);
            Step::Done(Err(CallError::Rejected(error)))
        };
        match self.host.open(&link, &self.request) {
            Ok(stream) => Step::Go(State::Accepting {
                link,
                stream,
                peer,
                instance,
            }),
            Err(error @ OpenError::TooLarge { .. }) => {
                rejected(Status::TooLarge, "message_bytes_max", error.to_string())
            }
            Err(error @ OpenError::StreamsMax { .. }) => {
                rejected(Status::Overloaded, "streams_max", error.to_string())
            }
            Err(OpenError::IdsExhausted) => {
                // Only this link is used up: the same instance gets a new one.
                self.host.with_pool(|pool| pool.retire(peer, &link));
                Step::Go(State::Choose)
            }
            Err(error @ OpenError::Endpoint) => Step::Done(Err(CallError::Invalid {
                message: error.to_string(),
            })),
            Err(error) => {
                let draining = matches!(error, OpenError::Draining);
                let now = self.host.now();
                self.host
                    .with_pool(|pool| pool.link_ended(peer, &link, draining, now));
                let kind = if draining {
                    ConnectErrorKind::Draining
                } else {
                    ConnectErrorKind::Reset
                };
                self.next(instance, DialFailure::new(kind, "").into_error(instance))
            }
        }
    }

    /// The stream ended before the handler had it.
    fn refused(&mut self, end: &Terminal, instance: InstanceId) -> Step<H::Link> {
        if end.info.status == Status::DeadlineExceeded {
            let (started, instance) = (end.started, Some(instance));
            return Step::Done(Err(CallError::DeadlineExceeded { started, instance }));
        }
        let error = end
            .error(instance)
            .unwrap_or_else(|| StreamError::new(end.info.status, end.started, "").at(instance));
        if end.is_turned_away() {
            return self.next(instance, CallError::Rejected(error));
        }
        Step::Done(Err(CallError::Rejected(error)))
    }

    /// Nothing was handed over: the next instance is asked, unless the call named this one.
    fn next(&mut self, instance: InstanceId, error: CallError) -> Step<H::Link> {
        if self.request.instance.is_some() {
            return Step::Done(Err(error));
        }
        self.tried.push(instance);
        self.last = Some(error);
        Step::Go(State::Choose)
    }

    fn nobody(&mut self) -> CallError {
        let endpoint = || self.request.endpoint.clone();
        self.last.take().unwrap_or_else(|| CallError::NoInstances {
            endpoint: endpoint(),
        })
    }
}

impl<H: Host> Drop for Driver<H> {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Linking { peer, wait, .. } => {
                self.host.with_pool(|pool| pool.cancel_wait(peer, wait));
            }
            State::Accepting { link, stream, .. } => self.host.release(&link, stream),
            _ => {}
        }
    }
}
