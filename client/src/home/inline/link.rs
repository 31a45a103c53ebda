//! One link and its streams behind one lock.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Waker;
use std::time::Instant;

use ringmain_codec::{ConnectionError, InstanceId, OpenError, Status};
use ringmain_reactor::timer::TimerWheel;
use ringmain_shard::{Link, LinkDown};
use ringmain_telemetry::{Counter, Gauge, Telemetry};
use tokio::sync::Notify;

use super::{InlineHome, now};
use crate::call::Request;
use crate::calls::{CallCounts, Calls, StreamKey};
use crate::home::{dial_failure, down_status, publish};
use crate::pool::{DialKey, PeerKey};

/// A link, compared by identity.
#[derive(Clone)]
pub(crate) struct LinkRef(Arc<InlineLink>);

/// What the reader and flusher tasks, and the consumers of streams, share.
pub(super) struct InlineLink {
    state: Mutex<LinkState>,
    /// The flusher has work.
    pub(super) flush: Notify,
    /// The reader's timer must be set anew, or the link is down.
    pub(super) rearm: Notify,
    /// Told for good when the link is down.
    gone: Notify,
    /// Never upgraded under the lock: its drop takes the locks of its links.
    home: Weak<InlineHome>,
    telemetry: Arc<Telemetry>,
    peer: PeerKey,
    instance: InstanceId,
}

pub(crate) struct LinkState {
    pub(super) link: Link,
    pub(crate) calls: Calls<()>,
    timers: TimerWheel<StreamKey>,
    /// The dial that this link answers once its handshake is done.
    dial: Option<DialKey>,
    /// When the reader looks next by itself.
    armed: Option<Instant>,
    /// No new streams; close once the open ones have ended.
    closing: bool,
    pub(super) down: bool,
}

impl LinkRef {
    pub(super) fn new(
        (home, telemetry): (Weak<InlineHome>, Arc<Telemetry>),
        dial: DialKey,
        instance: InstanceId,
        link: Link,
        reassembly_bytes_max: usize,
    ) -> Self {
        let state = LinkState {
            link,
            calls: Calls::new(reassembly_bytes_max),
            timers: TimerWheel::new(now()),
            dial: Some(dial),
            armed: None,
            closing: false,
            down: false,
        };
        Self(Arc::new(InlineLink {
            state: Mutex::new(state),
            flush: Notify::new(),
            rearm: Notify::new(),
            gone: Notify::new(),
            home,
            telemetry,
            peer: dial.peer,
            instance,
        }))
    }

    /// Runs `f` under the lock; afterwards whoever must act is told.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut LinkState) -> R) -> R {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = f(&mut state);
        self.tell(&mut state);
        result
    }

    /// Completes when the link goes down; look at [`is_down`](Self::is_down) after enabling it.
    pub(super) fn gone(&self) -> &Notify {
        &self.0.gone
    }

    pub(super) fn is_down(&self) -> bool {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.down
    }

    pub(super) fn notify(&self) -> (&Notify, &Notify) {
        (&self.0.flush, &self.0.rearm)
    }

    /// Opens a stream for the request.
    pub(super) fn open(&self, request: &Request) -> Result<StreamKey, OpenError> {
        let now = now();
        self.with(|state| {
            let LinkState {
                link,
                calls,
                timers,
                ..
            } = state;
            let sink = calls.messages();
            let key = calls.open_request(now, link, request, sink, ())?;
            if let Some(deadline) = request.deadline {
                calls.set_timer(key, timers.insert(deadline, key));
            }
            Ok(key)
        })
    }

    /// The consumer is gone.
    pub(super) fn release(&self, key: StreamKey) {
        self.with(|state| {
            state.calls.release(key, &mut state.link);
        });
    }

    /// Feeds what was read: one lock, then wakers. Returns when to look next without news.
    pub(super) fn received(
        &self,
        chunk: &[u8],
        wakers: &mut Vec<Waker>,
    ) -> Result<Option<Instant>, ConnectionError> {
        let now = now();
        let (result, news) = self.with(|state| {
            let result = state.calls.on_bytes(now, &mut state.link, chunk);
            state.calls.take_wakers(wakers);
            let news = state.calls.take_news();
            if news.goaway.is_some() {
                state.closing = true;
            }
            let dial = if news.ready {
                self.count(Counter::LinksOpened, 1);
                self.0.telemetry.process().gauge_add(Gauge::LinksOpen, 1);
                state.dial.take()
            } else {
                None
            };
            state.armed = state.due();
            (result.map(|()| state.armed), (dial, news.goaway))
        });
        self.count(Counter::BytesReceived, chunk.len() as u64);
        self.count(Counter::Receives, 1);
        if (news.0.is_some() || news.1.is_some())
            && let Some(home) = self.0.home.upgrade()
        {
            self.report(&home, news.0, news.1);
        }
        for waker in wakers.drain(..) {
            waker.wake();
        }
        result
    }

    /// Does what is due; returns when to look next.
    pub(super) fn timed_out(
        &self,
        wakers: &mut Vec<Waker>,
    ) -> Result<Option<Instant>, ConnectionError> {
        let now = now();
        let result = self.with(|state| {
            while let Some(key) = state.timers.poll_expired(now) {
                state.calls.expire(key, &mut state.link);
            }
            let due = state.link.poll_timeout().is_some_and(|due| due <= now);
            let result = if due {
                state.link.handle_timeout(now)
            } else {
                Ok(())
            };
            state.calls.take_wakers(wakers);
            state.armed = state.due();
            result.map(|()| state.armed)
        });
        for waker in wakers.drain(..) {
            waker.wake();
        }
        result
    }

    /// When the reader must look next; `None` inside when the link is down.
    pub(super) fn due(&self) -> Option<Option<Instant>> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.armed = state.due();
        (!state.down).then_some(state.armed)
    }

    /// What must be written now.
    pub(super) fn poll_send(&self) -> Output {
        let now = now();
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((buf, _)) = state.link.poll_send(now, true) {
            return Output::Write(buf);
        }
        if state.down {
            return Output::Down;
        }
        if state.closing && state.link.connection().is_drained() {
            return Output::Close;
        }
        Output::Nothing
    }

    /// The buffer was written, or lost.
    pub(super) fn sent(&self, buf: Vec<u8>) {
        let bytes = buf.len() as u64;
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.link.sent(buf);
        drop(state);
        self.count(Counter::BytesSent, bytes);
        self.count(Counter::Sends, 1);
    }

    /// No new streams from now on; the link closes when the last one has ended.
    pub(super) fn close_when_unused(&self, message: &str) {
        self.with(|state| {
            state.link.goaway(Status::Ok, message);
            state.closing = true;
        });
    }

    /// The transport is gone; every stream ends. Later calls do nothing.
    pub(super) fn take_down(&self, down: &LinkDown) {
        let mut wakers = Vec::new();
        let dial = {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::replace(&mut state.down, true) {
                return;
            }
            let (status, message) = down_status(down);
            let LinkState { link, calls, .. } = &mut *state;
            if matches!(down, LinkDown::Protocol(_)) {
                link.farewell(now());
            }
            link.fail();
            calls.fail_all(link, status, &message);
            calls.take_wakers(&mut wakers);
            self.tell(&mut state);
            state.dial.take()
        };
        let (flush, rearm) = self.notify();
        flush.notify_one();
        rearm.notify_one();
        self.0.gone.notify_waiters();
        if dial.is_some() {
            self.count(Counter::DialFailures, 1);
        } else {
            self.count(Counter::LinksClosed, 1);
            self.0.telemetry.process().gauge_sub(Gauge::LinksOpen, 1);
        }
        if let Some(home) = self.0.home.upgrade() {
            tracing::debug!(instance = %self.0.instance, ?down, "link.closed");
            let at_fault = *down != LinkDown::Local;
            match dial {
                Some(dial) => {
                    home.with_pool(|pool| pool.dial_failed(dial, &dial_failure(down), now()));
                }
                None => {
                    home.with_pool(|pool| pool.link_ended(self.0.peer, self, at_fault, now()));
                }
            }
        }
        for waker in wakers {
            waker.wake();
        }
    }

    /// Tells the pool what the link told us.
    fn report(&self, home: &InlineHome, ready: Option<DialKey>, goaway: Option<Status>) {
        if let Some(dial) = ready
            && !home.with_pool(|pool| pool.dialed(dial, self.clone()))
        {
            self.close_when_unused("not wanted any more");
        }
        if let Some(status) = goaway {
            let at_fault = status == Status::Draining;
            home.with_pool(|pool| pool.link_ended(self.0.peer, self, at_fault, now()));
        }
    }

    /// Tells the tasks what changed under the lock.
    fn tell(&self, state: &mut LinkState) {
        while let Some(timer) = state.calls.next_spent_timer() {
            state.timers.cancel(timer);
        }
        if state.link.has_output() || state.closing {
            self.0.flush.notify_one();
        }
        let due = state.due();
        if due.is_some_and(|due| state.armed.is_none_or(|armed| due < armed)) {
            state.armed = due;
            self.0.rearm.notify_one();
        }
        let counts = state.calls.take_counts();
        if counts != CallCounts::default() {
            let cells = self.0.telemetry.process();
            publish(counts, |counter, n| cells.add(counter, n));
            cells.gauge_add(Gauge::StreamsOpen, counts.started);
            cells.gauge_sub(Gauge::StreamsOpen, counts.ended());
        }
    }

    fn count(&self, counter: Counter, n: u64) {
        self.0.telemetry.process().add(counter, n);
    }
}

/// What the flusher does next.
pub(super) enum Output {
    Write(Vec<u8>),
    Nothing,
    /// Everything has ended and left.
    Close,
    Down,
}

impl LinkState {
    fn due(&self) -> Option<Instant> {
        match (self.link.poll_timeout(), self.timers.next_deadline()) {
            (Some(link), Some(timer)) => Some(link.min(timer)),
            (link, timer) => link.or(timer),
        }
    }
}

impl PartialEq for LinkRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for LinkRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkRef")
            .field("instance", &self.0.instance)
            .finish_non_exhaustive()
    }
}
