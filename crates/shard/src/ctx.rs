//! A shard's state as the roles and tasks on its thread see it.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use ringmain_codec::{Config, StreamHandle};
use ringmain_reactor::exec::{Spawner, Task};
use ringmain_reactor::timer::{TimerKey, TimerWheel};
use ringmain_reactor::{Address, IoKind};
use ringmain_telemetry::{Counter, Gauge, ShardCells, Telemetry};

use crate::key::LinkKey;
use crate::link::Link;
use crate::links::{LinkEntry, LinkSlab, LinkState};
use crate::mailboxes::ShardHandle;
use crate::roles::LinkRole;
use crate::room::RoomQueue;
use crate::sleep::Sleepers;

/// What a timer of the shard's wheel belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimerTarget {
    Link(LinkKey),
    Stream(LinkKey, StreamHandle),
    Sleeper(u32),
}

/// What only the turn can do, because it needs the reactor.
pub(crate) enum Command {
    Dial { key: LinkKey, address: Address },
    Close { key: LinkKey },
}

/// A handle to the shard that runs the current thread. Cheap to clone, never leaves its thread.
///
/// Tasks and roles reach links, timers and the executor through it. Nothing here blocks, and
/// nothing here makes a syscall: output leaves at the end of the turn.
#[derive(Clone)]
pub struct ShardCtx {
    inner: Rc<Inner>,
}

struct Inner {
    index: usize,
    io: IoKind,
    now: Cell<Instant>,
    links: RefCell<LinkSlab>,
    dirty: RefCell<Vec<LinkKey>>,
    timers: RefCell<TimerWheel<TimerTarget>>,
    sleepers: RefCell<Sleepers>,
    commands: RefCell<VecDeque<Command>>,
    extensions: RefCell<HashMap<TypeId, Rc<dyn Any>>>,
    spawner: Spawner,
    telemetry: Arc<Telemetry>,
    handles: Arc<[ShardHandle]>,
}

impl ShardCtx {
    pub(crate) fn new(
        index: usize,
        io: IoKind,
        now: Instant,
        spawner: Spawner,
        telemetry: Arc<Telemetry>,
        handles: Arc<[ShardHandle]>,
    ) -> Self {
        Self {
            inner: Rc::new(Inner {
                index,
                io,
                now: Cell::new(now),
                links: RefCell::default(),
                dirty: RefCell::default(),
                timers: RefCell::new(TimerWheel::new(now)),
                sleepers: RefCell::default(),
                commands: RefCell::default(),
                extensions: RefCell::default(),
                spawner,
                telemetry,
                handles,
            }),
        }
    }

    /// This shard's index in its set.
    pub fn index(&self) -> usize {
        self.inner.index
    }

    /// The driver this shard runs on.
    pub fn io(&self) -> IoKind {
        self.inner.io
    }

    /// The time of this turn.
    pub fn now(&self) -> Instant {
        self.inner.now.get()
    }

    /// Handles of all shards of the set, this one included.
    pub fn handles(&self) -> &Arc<[ShardHandle]> {
        &self.inner.handles
    }

    /// Adds to a counter of this shard.
    pub fn count(&self, counter: Counter, n: u64) {
        self.cells().add(counter, n);
    }

    /// This shard's counters and gauges.
    pub fn cells(&self) -> &ShardCells {
        self.inner.telemetry.shard(self.inner.index)
    }

    /// Starts a task on this shard. Dropping the returned handle cancels it.
    pub fn spawn<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Task<T> {
        self.inner.spawner.spawn(future)
    }

    /// Runs `f` on a link and its role; `None` if the link is gone.
    ///
    /// Output that `f` produces leaves at the end of this turn or as the flush rule says.
    ///
    /// # Panics
    ///
    /// When called from inside a method of the same link's role.
    pub fn with_link<T>(
        &self,
        key: LinkKey,
        f: impl FnOnce(&mut Link, &mut dyn LinkRole) -> T,
    ) -> Option<T> {
        let entry = self.inner.links.borrow().find(key)?;
        let mut entry = entry.borrow_mut();
        if !entry.is_usable() {
            return None;
        }
        let entry = &mut *entry;
        let result = f(&mut entry.link, &mut *entry.role);
        if entry.link.has_output() {
            self.mark_dirty(key, entry);
        }
        Some(result)
    }

    /// Where producers wait for room in a link's out-buffer; `None` if the link is gone.
    ///
    /// # Panics
    ///
    /// When called from inside a method of the same link's role.
    pub fn room(&self, key: LinkKey) -> Option<Rc<RoomQueue>> {
        let entry = self.inner.links.borrow().find(key)?;
        let room = Rc::clone(&entry.borrow().room);
        Some(room)
    }

    /// Runs `f` on every link of this shard.
    ///
    /// # Panics
    ///
    /// When called from inside a method of a role.
    pub fn for_each_link(&self, mut f: impl FnMut(&mut Link, &mut dyn LinkRole)) {
        let keys = self.inner.links.borrow().keys();
        for key in keys {
            self.with_link(key, &mut f);
        }
    }

    /// Starts to connect; the role hears `on_connected` or `on_down`.
    ///
    /// The link takes calls at once, but streams open only after its handshake.
    pub fn dial(&self, address: Address, config: Config, role: Box<dyn LinkRole>) -> LinkKey {
        let link = Link::new(config, self.now());
        let key = self
            .inner
            .links
            .borrow_mut()
            .insert(link, role, LinkState::Connecting);
        self.count(Counter::Dials, 1);
        self.inner
            .commands
            .borrow_mut()
            .push_back(Command::Dial { key, address });
        key
    }

    /// Closes a link once its output has left; its role hears `on_down(Local)`.
    pub fn close(&self, key: LinkKey) {
        self.inner
            .commands
            .borrow_mut()
            .push_back(Command::Close { key });
    }

    /// Calls the role's `on_stream_timer` at `deadline`, never early.
    pub fn set_stream_timer(
        &self,
        key: LinkKey,
        stream: StreamHandle,
        deadline: Instant,
    ) -> TimerKey {
        self.inner
            .timers
            .borrow_mut()
            .insert(deadline, TimerTarget::Stream(key, stream))
    }

    /// Takes a timer back; false if it has fired.
    pub fn cancel_timer(&self, timer: TimerKey) -> bool {
        self.inner.timers.borrow_mut().cancel(timer)
    }

    /// Completes at `deadline`, never early.
    pub fn sleep_until(&self, deadline: Instant) -> crate::sleep::Sleep {
        crate::sleep::Sleep::new(self.clone(), deadline)
    }

    /// The shard's one value of type `T`, made on first use. This is where a role keeps what all
    /// its links on this shard share.
    pub fn extension<T: 'static>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let known = self
            .inner
            .extensions
            .borrow()
            .get(&TypeId::of::<T>())
            .cloned();
        let value = known.unwrap_or_else(|| {
            let made: Rc<dyn Any> = Rc::new(make());
            self.inner
                .extensions
                .borrow_mut()
                .insert(TypeId::of::<T>(), Rc::clone(&made));
            made
        });
        value
            .downcast()
            .unwrap_or_else(|_| unreachable!("stored under its own type"))
    }

    pub(crate) fn set_now(&self, now: Instant) {
        self.inner.now.set(now);
    }

    pub(crate) fn links(&self) -> &RefCell<LinkSlab> {
        &self.inner.links
    }

    pub(crate) fn timers(&self) -> &RefCell<TimerWheel<TimerTarget>> {
        &self.inner.timers
    }

    pub(crate) fn sleepers(&self) -> &RefCell<Sleepers> {
        &self.inner.sleepers
    }

    pub(crate) fn next_command(&self) -> Option<Command> {
        self.inner.commands.borrow_mut().pop_front()
    }

    pub(crate) fn has_commands(&self) -> bool {
        !self.inner.commands.borrow().is_empty()
    }

    /// Lists a link for this turn's flush, once.
    pub(crate) fn mark_dirty(&self, key: LinkKey, entry: &mut LinkEntry) {
        if !std::mem::replace(&mut entry.dirty, true) {
            self.inner.dirty.borrow_mut().push(key);
        }
    }

    /// Swaps the dirty list with an empty one that the turn keeps.
    pub(crate) fn take_dirty(&self, into: &mut Vec<LinkKey>) {
        std::mem::swap(&mut *self.inner.dirty.borrow_mut(), into);
    }

    pub(crate) fn has_dirty(&self) -> bool {
        !self.inner.dirty.borrow().is_empty()
    }

    pub(crate) fn forget_extensions(&self) {
        // Dropped outside the borrow: an extension may use the context as it goes.
        let extensions = std::mem::take(&mut *self.inner.extensions.borrow_mut());
        drop(extensions);
    }

    pub(crate) fn telemetry_gauge(&self, gauge: Gauge, value: u64) {
        self.cells().set(gauge, value);
    }
}
