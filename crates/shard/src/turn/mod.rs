//! One shard's loop: reap, dispatch, run, flush, wait.

mod close;
mod dispatch;
mod figures;
mod flush;
mod open;
mod timers;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringmain_reactor::exec::{Executor, ExecutorStats};
use ringmain_reactor::mailbox::Receiver;
use ringmain_reactor::{ListenerId, Reactor, SocketId, SocketOptions};
use ringmain_telemetry::{Counter, Gauge};

use self::figures::Figures;
pub(crate) use self::figures::LinkFigures;
use crate::clock::Clock;
use crate::ctx::{Command, ShardCtx};
use crate::key::LinkKey;
use crate::message::ShardMessage;
use crate::roles::LinkAcceptor;

/// Tasks polled in one turn at most; the rest waits for the next.
const TASKS_PER_TURN_MAX: usize = 256;
/// Mailbox items taken in one turn at most.
const MAIL_PER_TURN_MAX: usize = 1024;
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
    /// What found the mailbox full, and how many items of the mailbox were there before it.
    late: (Vec<ShardMessage>, usize),
    by_socket: Vec<Option<(SocketId, LinkKey)>>,
    listeners: Vec<(ListenerId, Arc<dyn LinkAcceptor>, SocketOptions)>,
    dirty: Vec<LinkKey>,
    socket_options: SocketOptions,
    stop_at: Option<Instant>,
    ended: Option<Instant>,
    clock: Clock,
    figures: Figures,
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
            late: (Vec::new(), 0),
            by_socket: Vec::new(),
            listeners: Vec::new(),
            dirty: Vec::new(),
            socket_options,
            stop_at: None,
            ended: None,
            clock: Clock::default(),
            figures: Figures::default(),
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
        self.publish();
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
        // A link that goes down as it is flushed may leave commands behind: its role dials anew.
        let has_work = self.ctx.has_dirty() || self.ctx.has_commands() || self.has_mail();
        if has_work || !self.exec.is_idle() {
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
        let late = self.ctx.handles()[self.ctx.index()].late();
        let has_work = || mailbox.has_work() || late.any() || !exec.is_idle();
        if self.reactor.spin(until, &has_work) || !mailbox.doorbell().prepare_park(has_work) {
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

    fn has_mail(&self) -> bool {
        let late = self.ctx.handles()[self.ctx.index()].late();
        self.mailbox.has_work() || late.any() || !self.late.0.is_empty()
    }

    fn take_mail(&mut self) {
        if self.late.0.is_empty() {
            // Everything that is in the mailbox now goes before it, so that no end overtakes.
            let late = self.ctx.handles()[self.ctx.index()].late().take();
            self.late = (late, self.mailbox.len());
        }
        for _ in 0..MAIL_PER_TURN_MAX {
            if self.late.1 == 0 {
                for message in std::mem::take(&mut self.late.0) {
                    self.handle(message);
                }
            }
            let Some(message) = self.mailbox.try_recv() else {
                return;
            };
            self.late.1 = self.late.1.saturating_sub(1);
            self.handle(message);
        }
    }

    fn handle(&mut self, message: ShardMessage) {
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

    fn run_commands(&mut self) {
        while let Some(command) = self.ctx.next_command() {
            match command {
                Command::Dial { key, address } => self.dial(key, &address),
                Command::Close { key } => self.close(key),
            }
        }
    }
}

/// Handlers and links may hold the context, which holds them: the circle is cut here. Links that
/// are left, because the time to stop was over or the shard failed, end their streams as they go.
impl<R: Reactor> Drop for Shard<R> {
    fn drop(&mut self) {
        self.ctx.handles()[self.ctx.index()].late().close();
        self.ctx.forget_extensions();
        let links = std::mem::take(&mut *self.ctx.links().borrow_mut());
        drop(links);
    }
}
