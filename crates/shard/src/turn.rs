//! One shard's loop: reap, dispatch, run, flush, wait.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ringmain_codec::{ConnectionError, Status};
use ringmain_reactor::exec::{Executor, ExecutorStats};
use ringmain_reactor::mailbox::Receiver;
use ringmain_reactor::{Event, ListenerId, Reactor, SocketId, SocketOptions};
use ringmain_telemetry::{Counter, Gauge};

use crate::clock::Clock;
use crate::ctx::{Command, ShardCtx, TimerTarget};
use crate::key::LinkKey;
use crate::link::FlushReason;
use crate::links::{LinkEntry, LinkState};
use crate::message::{ListenRequest, ShardMessage};
use crate::roles::{LinkAcceptor, LinkDown};

/// Tasks polled in one turn at most; the rest waits for the next.
const TASKS_PER_TURN_MAX: usize = 1024;
/// Mailbox items taken in one turn at most.
const MAIL_PER_TURN_MAX: usize = 1024;
/// How long a link that is closing may take to hand its last bytes to the kernel.
const LINGER: Duration = Duration::from_secs(2);
/// A turn that takes longer than this is counted: the thread was held up.
const TURN_THRESHOLD: Duration = Duration::from_millis(10);

/// Whether the loop should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Call [`Shard::turn`] again.
    Continue,
    /// The shard was asked to stop and everything of it has ended.
    Stopped,
}

/// One reactor, one executor, and the links that live on them.
///
/// Invariant: everything of a shard is touched by one thread; other threads reach it by its
/// mailbox alone.
pub struct Shard<R: Reactor> {
    reactor: R,
    ctx: ShardCtx,
    exec: Executor,
    mailbox: Receiver<ShardMessage>,
    by_socket: Vec<Option<(SocketId, LinkKey)>>,
    listeners: Vec<(ListenerId, Arc<dyn LinkAcceptor>, SocketOptions)>,
    dirty: Vec<LinkKey>,
    socket_options: SocketOptions,
    stop_at: Option<Instant>,
    ended: Option<Instant>,
    clock: Clock,
}

impl<R: Reactor> Shard<R> {
    pub(crate) fn new(
        reactor: R,
        ctx: ShardCtx,
        exec: Executor,
        mailbox: Receiver<ShardMessage>,
        socket_options: SocketOptions,
    ) -> Self {
        Self {
            reactor,
            ctx,
            exec,
            mailbox,
            by_socket: Vec::new(),
            listeners: Vec::new(),
            dirty: Vec::new(),
            socket_options,
            stop_at: None,
            ended: None,
            clock: Clock::default(),
        }
    }

    /// Shows the time of each turn on `clock`.
    pub(crate) fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The context that this shard's roles and tasks use.
    pub const fn ctx(&self) -> &ShardCtx {
        &self.ctx
    }

    /// The driver, to look at its counters.
    pub const fn reactor(&self) -> &R {
        &self.reactor
    }

    /// Counters of the shard's tasks.
    pub fn tasks(&self) -> ExecutorStats {
        self.exec.stats()
    }

    /// Until when the next [`turn`](Self::turn) would wait: a time that has come if there is work,
    /// `None` if only an event or a message brings some. For whoever moves a virtual time.
    pub fn next_wait(&mut self) -> Option<Instant> {
        self.wait_until()
    }

    /// One turn; waits inside when there is nothing to do.
    ///
    /// # Errors
    ///
    /// Only when the driver itself cannot go on.
    pub fn turn(&mut self) -> io::Result<Turn> {
        let until = self.wait_until();
        let until = self.spin_or_park(until);
        self.reactor.turn(until)?;
        self.mailbox.unpark();
        let now = self.reactor.now();
        self.watch_turn_time(now);
        self.ctx.set_now(now);
        self.clock.set(now);
        self.ctx.count(Counter::Turns, 1);

        while let Some(event) = self.reactor.next_event() {
            self.dispatch(event);
        }
        self.expire_timers();
        self.take_mail();
        self.exec.run(TASKS_PER_TURN_MAX);
        self.run_commands();
        self.flush();
        if self.is_stopped() {
            self.ctx.forget_extensions();
            return Ok(Turn::Stopped);
        }
        Ok(Turn::Continue)
    }

    /// Turns until the shard is stopped.
    ///
    /// # Errors
    ///
    /// See [`turn`](Self::turn).
    pub fn run(mut self) -> io::Result<()> {
        while self.turn()? == Turn::Continue {}
        Ok(())
    }

    fn wait_until(&mut self) -> Option<Instant> {
        let now = self.ctx.now();
        self.ended = None;
        if !self.exec.is_idle() || self.ctx.has_dirty() || self.mailbox.has_work() {
            self.ended = Some(now);
            return Some(now);
        }
        let timer = self.ctx.timers().borrow().next_deadline();
        match (timer, self.stop_at) {
            (Some(timer), Some(stop)) => Some(timer.min(stop)),
            (timer, stop) => timer.or(stop),
        }
    }

    /// Spins as far as the idle policy goes; then raises the sleeping flag and looks once more at
    /// everything that rings its bell.
    fn spin_or_park(&mut self, until: Option<Instant>) -> Option<Instant> {
        let now = self.ctx.now();
        if until.is_some_and(|until| until <= now) {
            return until;
        }
        let (mailbox, exec) = (&self.mailbox, &self.exec);
        let has_mail = || mailbox.has_work() || !exec.is_idle();
        if self.reactor.spin(until, &has_mail)
            || !self.mailbox.prepare_park()
            || !self.exec.prepare_park()
        {
            return Some(now);
        }
        until
    }

    /// Counts turns during which the thread did not come back for long. Only back-to-back turns
    /// tell: a wait is no delay.
    fn watch_turn_time(&self, now: Instant) {
        if let Some(ended) = self.ended {
            let took = now.saturating_duration_since(ended);
            if took > TURN_THRESHOLD {
                self.ctx.count(Counter::TurnOverThreshold, 1);
                let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
                self.ctx.cells().gauge_max(Gauge::TurnUsMax, us);
            }
        }
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Accepted { listener, fd, peer } => self.place(listener, fd, peer),
            Event::AcceptFailed { error, .. } => {
                self.ctx.count(Counter::AcceptErrors, 1);
                tracing::debug!(%error, "accept.failed");
            }
            Event::Connected { socket } => self.connected(socket),
            Event::ConnectFailed { socket, error } => {
                self.ctx.count(Counter::DialFailures, 1);
                let down = LinkDown::Dial(error.kind(), error.to_string());
                if let Some(key) = self.forget_socket(socket) {
                    self.take_down(key, down);
                }
            }
            Event::Received { socket, buf } => {
                self.received(socket, &buf);
                self.reactor.recycle(buf);
            }
            Event::Eof { socket } => self.socket_ended(socket, LinkDown::Eof),
            Event::Failed { socket, error } => {
                self.socket_ended(socket, LinkDown::Transport(error.kind()));
            }
            Event::Sent {
                socket,
                buf,
                result,
            } => self.sent(socket, buf, result),
            Event::Closed { socket, .. } => self.closed(socket),
            Event::Readable { .. } => {}
        }
    }

    fn key_of(&self, socket: SocketId) -> Option<LinkKey> {
        let (owner, key) = (*self.by_socket.get(socket.index() as usize)?)?;
        (owner == socket).then_some(key)
    }

    fn remember_socket(&mut self, socket: SocketId, key: LinkKey) {
        let index = socket.index() as usize;
        if self.by_socket.len() <= index {
            self.by_socket.resize(index + 1, None);
        }
        self.by_socket[index] = Some((socket, key));
    }

    fn forget_socket(&mut self, socket: SocketId) -> Option<LinkKey> {
        let key = self.key_of(socket)?;
        self.by_socket[socket.index() as usize] = None;
        Some(key)
    }

    fn entry(&self, key: LinkKey) -> Option<Rc<RefCell<LinkEntry>>> {
        self.ctx.links().borrow().find(key)
    }

    fn received(&mut self, socket: SocketId, buf: &ringmain_reactor::RecvBuf) {
        let Some(key) = self.key_of(socket) else {
            return;
        };
        let Some(entry) = self.entry(key) else { return };
        let chunk = self.reactor.bytes(buf);
        self.ctx.count(Counter::BytesReceived, chunk.len() as u64);
        self.ctx.count(Counter::Receives, 1);
        let result = {
            let mut entry = entry.borrow_mut();
            if entry.state != LinkState::Open {
                return;
            }
            let entry = &mut *entry;
            let result = entry.role.on_bytes(&self.ctx, key, &mut entry.link, chunk);
            if !entry.dirty && entry.link.has_output() {
                entry.dirty = true;
                self.ctx.mark_dirty(key);
            }
            result
        };
        if let Err(error) = result {
            self.take_down(key, LinkDown::Protocol(error));
        }
    }

    fn connected(&self, socket: SocketId) {
        let Some(key) = self.key_of(socket) else {
            return;
        };
        let Some(entry) = self.entry(key) else { return };
        let mut entry = entry.borrow_mut();
        if entry.state != LinkState::Connecting {
            return;
        }
        entry.state = LinkState::Open;
        let entry = &mut *entry;
        entry.role.on_connected(&self.ctx, key, &mut entry.link);
        if !entry.dirty {
            entry.dirty = true;
            self.ctx.mark_dirty(key);
        }
    }

    fn sent(&mut self, socket: SocketId, buf: Vec<u8>, result: io::Result<()>) {
        let Some(key) = self.key_of(socket) else {
            return;
        };
        let Some(entry) = self.entry(key) else { return };
        match result {
            Ok(()) => {
                let mut entry = entry.borrow_mut();
                if entry.link.sent(buf) && !entry.dirty {
                    entry.dirty = true;
                    self.ctx.mark_dirty(key);
                }
                let flushed = !entry.link.has_output();
                if entry.state == LinkState::Lingering && flushed {
                    entry.state = LinkState::Closing;
                    self.reactor.close(socket);
                } else if entry.close_when_flushed.is_some() && !entry.dirty {
                    entry.dirty = true;
                    self.ctx.mark_dirty(key);
                }
            }
            Err(error) => {
                entry.borrow_mut().link.sent(buf);
                self.socket_ended(socket, LinkDown::Transport(error.kind()));
            }
        }
    }

    fn socket_ended(&mut self, socket: SocketId, down: LinkDown) {
        let Some(key) = self.key_of(socket) else {
            return;
        };
        self.take_down(key, down);
        if let Some(entry) = self.entry(key) {
            // Nothing more can be said to this peer: do not linger.
            entry.borrow_mut().state = LinkState::Closing;
        }
        self.reactor.close(socket);
    }

    /// Tells the role that its link ended, once, and starts to close the socket.
    fn take_down(&mut self, key: LinkKey, down: LinkDown) {
        let Some(entry) = self.entry(key) else { return };
        let mut borrowed = entry.borrow_mut();
        if !borrowed.is_usable() {
            return;
        }
        self.count_down(&down);
        let this = &mut *borrowed;
        this.state = LinkState::Lingering;
        if matches!(down, LinkDown::Protocol(_)) {
            this.link.farewell(self.ctx.now());
        }
        this.link.fail();
        this.role.on_down(&self.ctx, key, &mut this.link, &down);
        let Some(socket) = this.socket else {
            drop(borrowed);
            self.remove(key);
            return;
        };
        if self.key_of(socket).is_none() {
            drop(borrowed);
            self.remove(key);
            return;
        }
        if this.link.has_output() || this.link.is_sending() {
            let deadline = self.ctx.now() + LINGER;
            self.rearm(key, this, Some(deadline));
            if !this.dirty {
                this.dirty = true;
                self.ctx.mark_dirty(key);
            }
        } else {
            this.state = LinkState::Closing;
            self.reactor.close(socket);
        }
    }

    fn count_down(&self, down: &LinkDown) {
        if let LinkDown::Protocol(error) = down {
            let counter = match error {
                ConnectionError::PeerUnresponsive => Counter::PeerUnresponsive,
                ConnectionError::HandshakeTimeout => Counter::HandshakeTimeouts,
                ConnectionError::Flood(_) => Counter::Floods,
                ConnectionError::StaleInstance { .. } | ConnectionError::PeerClosed(_) => {
                    Counter::LinksRefused
                }
                _ => Counter::ProtocolErrors,
            };
            self.ctx.count(counter, 1);
            tracing::debug!(shard = self.ctx.index(), reason = %error, "link.closed");
        }
    }

    fn closed(&mut self, socket: SocketId) {
        if let Some(key) = self.forget_socket(socket) {
            self.remove(key);
        }
    }

    fn remove(&self, key: LinkKey) {
        let Some(entry) = self.ctx.links().borrow_mut().remove(key) else {
            return;
        };
        if let Some((_, timer)) = entry.borrow_mut().timer.take() {
            self.ctx.timers().borrow_mut().cancel(timer);
        }
        self.ctx.handles()[self.ctx.index()]
            .links()
            .fetch_sub(1, Ordering::Relaxed);
        self.ctx.count(Counter::LinksClosed, 1);
        self.count_links();
    }

    fn count_links(&self) {
        self.ctx
            .telemetry_gauge(Gauge::LinksOpen, self.ctx.links().borrow().len() as u64);
    }

    fn expire_timers(&mut self) {
        let now = self.ctx.now();
        loop {
            let due = self.ctx.timers().borrow_mut().poll_expired(now);
            let Some(target) = due else { return };
            match target {
                TimerTarget::Sleeper(index) => self.ctx.sleepers().borrow_mut().wake(index),
                TimerTarget::Stream(key, stream) => {
                    let ctx = self.ctx.clone();
                    ctx.clone().with_link(key, |link, role| {
                        role.on_stream_timer(&ctx, key, link, stream);
                    });
                }
                TimerTarget::Link(key) => self.link_timer(key, now),
            }
        }
    }

    fn link_timer(&mut self, key: LinkKey, now: Instant) {
        let Some(entry) = self.entry(key) else { return };
        let mut borrowed = entry.borrow_mut();
        borrowed.timer = None;
        match borrowed.state {
            LinkState::Closing => {}
            LinkState::Lingering => {
                borrowed.state = LinkState::Closing;
                if let Some(socket) = borrowed.socket {
                    self.reactor.close(socket);
                }
            }
            LinkState::Connecting | LinkState::Open => {
                if let Err(error) = borrowed.link.handle_timeout(now) {
                    drop(borrowed);
                    self.take_down(key, LinkDown::Protocol(error));
                    return;
                }
                let due = borrowed.link.poll_timeout();
                self.rearm(key, &mut borrowed, due);
                if borrowed.link.has_output() && !borrowed.dirty {
                    borrowed.dirty = true;
                    self.ctx.mark_dirty(key);
                }
            }
        }
    }

    /// Sets the link's timer unless one is set that fires no later.
    fn rearm(&self, key: LinkKey, entry: &mut LinkEntry, due: Option<Instant>) {
        let Some(due) = due else { return };
        if let Some((armed, timer)) = entry.timer {
            if armed <= due {
                return;
            }
            self.ctx.timers().borrow_mut().cancel(timer);
        }
        let timer = self
            .ctx
            .timers()
            .borrow_mut()
            .insert(due, TimerTarget::Link(key));
        entry.timer = Some((due, timer));
    }

    fn take_mail(&mut self) {
        for _ in 0..MAIL_PER_TURN_MAX {
            let Some(message) = self.mailbox.try_recv() else {
                return;
            };
            match message {
                ShardMessage::Adopt { fd, peer, acceptor } => {
                    self.adopt(fd, peer.as_ref(), &acceptor);
                }
                ShardMessage::Listen(request) => self.listen(*request),
                ShardMessage::Unlisten => self.unlisten(),
                ShardMessage::Work(work) => work.run(&self.ctx),
                ShardMessage::Signal(signal) => signal.signalled(&self.ctx),
                ShardMessage::Stop { within } => self.stop(within),
            }
        }
    }

    fn run_commands(&mut self) {
        while let Some(command) = self.ctx.next_command() {
            match command {
                Command::Dial { key, address } => self.dial(key, &address),
                Command::Close { key } => {
                    if let Some(entry) = self.entry(key) {
                        let mut entry = entry.borrow_mut();
                        entry.close_when_flushed = Some(LinkDown::Local);
                        if !entry.dirty {
                            entry.dirty = true;
                            self.ctx.mark_dirty(key);
                        }
                    }
                }
            }
        }
    }

    fn dial(&mut self, key: LinkKey, address: &ringmain_reactor::Address) {
        let Some(entry) = self.entry(key) else { return };
        self.ctx.handles()[self.ctx.index()]
            .links()
            .fetch_add(1, Ordering::Relaxed);
        self.count_links();
        match self.reactor.connect(address, &self.socket_options) {
            Ok(socket) => {
                entry.borrow_mut().socket = Some(socket);
                self.remember_socket(socket, key);
                let mut entry = entry.borrow_mut();
                let due = entry.link.poll_timeout();
                self.rearm(key, &mut entry, due);
            }
            Err(error) => {
                self.ctx.count(Counter::DialFailures, 1);
                self.take_down(key, LinkDown::Dial(error.kind(), error.to_string()));
            }
        }
    }

    /// Gives an accepted connection to the shard with the fewest links.
    fn place(
        &mut self,
        listener: ListenerId,
        fd: std::os::fd::OwnedFd,
        peer: Option<ringmain_reactor::Address>,
    ) {
        self.ctx.count(Counter::Accepts, 1);
        let known = self.listeners.iter().find(|(id, ..)| *id == listener);
        let Some((_, acceptor, _)) = known else {
            return;
        };
        let acceptor = Arc::clone(acceptor);
        let handles = Arc::clone(self.ctx.handles());
        let load = |index: usize| handles[index].links().load(Ordering::Relaxed);
        let here = self.ctx.index();
        let target = (0..handles.len())
            .min_by_key(|&i| (load(i), i != here))
            .unwrap_or(here);
        handles[target].links().fetch_add(1, Ordering::Relaxed);
        if target == here {
            self.adopt(fd, peer.as_ref(), &acceptor);
            return;
        }
        let message = ShardMessage::Adopt { fd, peer, acceptor };
        if let Err(ShardMessage::Adopt { fd, peer, acceptor }) = handles[target].post(message) {
            // A full mailbox must not cost a connection: it is served here instead.
            self.ctx.count(Counter::MailboxFull, 1);
            handles[target].links().fetch_sub(1, Ordering::Relaxed);
            handles[here].links().fetch_add(1, Ordering::Relaxed);
            self.adopt(fd, peer.as_ref(), &acceptor);
        }
    }

    fn adopt(
        &mut self,
        fd: std::os::fd::OwnedFd,
        peer: Option<&ringmain_reactor::Address>,
        acceptor: &Arc<dyn LinkAcceptor>,
    ) {
        let options = self.socket_options.clone();
        let socket = match self.reactor.adopt(fd, &options) {
            Ok(socket) if self.stop_at.is_none() => socket,
            outcome => {
                self.ctx.handles()[self.ctx.index()]
                    .links()
                    .fetch_sub(1, Ordering::Relaxed);
                self.ctx.count(Counter::LinksRefused, 1);
                match outcome {
                    Ok(socket) => self.reactor.close(socket),
                    Err(error) => tracing::warn!(%error, "link.refused"),
                }
                return;
            }
        };
        let (config, role) = acceptor.accept(&self.ctx, peer);
        let link = crate::link::Link::new(config, self.ctx.now());
        let key = self
            .ctx
            .links()
            .borrow_mut()
            .insert(link, role, LinkState::Open);
        self.remember_socket(socket, key);
        self.ctx.count(Counter::LinksOpened, 1);
        self.count_links();
        if let Some(entry) = self.entry(key) {
            let mut entry = entry.borrow_mut();
            entry.socket = Some(socket);
            let due = entry.link.poll_timeout();
            self.rearm(key, &mut entry, due);
        }
    }

    fn listen(&mut self, request: ListenRequest) {
        let ListenRequest {
            address,
            options,
            acceptor,
            reply,
        } = request;
        let result = self
            .reactor
            .listen(&address, &options)
            .map(|(listener, address)| {
                self.listeners.push((listener, acceptor, options.socket));
                address
            });
        // The asker may have given up; then the listener stays until the shard stops.
        drop(reply.try_send(result));
    }

    fn unlisten(&mut self) {
        for (listener, ..) in self.listeners.drain(..) {
            self.reactor.unlisten(listener);
        }
    }

    fn stop(&mut self, within: Duration) {
        let now = self.ctx.now();
        self.stop_at.get_or_insert_with(|| now + within);
        self.unlisten();
        let keys = self.ctx.links().borrow().keys();
        for key in keys {
            self.ctx.with_link(key, |link, _| {
                link.goaway(Status::Draining, "shutting down");
                link.mark_urgent();
            });
            self.ctx.close(key);
        }
        self.run_commands();
    }

    fn is_stopped(&self) -> bool {
        let Some(stop_at) = self.stop_at else {
            return false;
        };
        let links = self.ctx.links().borrow().len();
        (links == 0 && self.reactor.in_flight() == 0) || self.ctx.now() >= stop_at
    }

    fn flush(&mut self) {
        let idle = self.exec.is_idle();
        let now = self.ctx.now();
        let mut dirty = std::mem::take(&mut self.dirty);
        self.ctx.take_dirty(&mut dirty);
        for key in dirty.drain(..) {
            self.flush_link(key, now, idle);
        }
        self.dirty = dirty;
    }

    fn flush_link(&mut self, key: LinkKey, now: Instant, idle: bool) {
        let Some(entry) = self.entry(key) else { return };
        let mut borrowed = entry.borrow_mut();
        borrowed.dirty = false;
        let open = matches!(borrowed.state, LinkState::Open | LinkState::Lingering);
        let Some(socket) = borrowed.socket.filter(|_| open) else {
            return;
        };
        let due = borrowed.link.poll_timeout();
        if borrowed.state == LinkState::Open {
            self.rearm(key, &mut borrowed, due);
        }
        let idle = idle || borrowed.state == LinkState::Lingering;
        if let Some((buf, reason)) = borrowed.link.poll_send(now, idle) {
            self.ctx.count(Counter::Sends, 1);
            self.ctx.count(Counter::BytesSent, buf.len() as u64);
            self.ctx.count(flush_counter(reason), 1);
            self.reactor.send(socket, buf);
        } else if borrowed.link.has_output() && !borrowed.link.is_sending() {
            borrowed.dirty = true;
            self.ctx.mark_dirty(key);
        }
        let flushed = !borrowed.link.has_output() && !borrowed.link.is_sending();
        if !flushed {
            return;
        }
        if borrowed.state == LinkState::Lingering {
            borrowed.state = LinkState::Closing;
            self.reactor.close(socket);
        } else if let Some(down) = borrowed.close_when_flushed.take() {
            drop(borrowed);
            self.take_down(key, down);
        }
    }
}

/// Handlers and links may hold the context, which holds them: the circle is cut here.
impl<R: Reactor> Drop for Shard<R> {
    fn drop(&mut self) {
        self.ctx.forget_extensions();
    }
}

const fn flush_counter(reason: FlushReason) -> Counter {
    match reason {
        FlushReason::Urgent => Counter::FlushesUrgent,
        FlushReason::Size => Counter::FlushesSize,
        FlushReason::Age => Counter::FlushesTurns,
        FlushReason::Idle => Counter::FlushesIdle,
    }
}
