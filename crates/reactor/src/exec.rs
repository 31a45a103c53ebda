//! One thread's executor: futures that need not be `Send`, woken from any thread.
//!
//! A wake on the executor's own thread is a push to a queue that only it uses. A wake from another
//! thread links the task into a lock-free stack and rings the [`Doorbell`]. Neither allocates.
//! Futures are polled and dropped on the executor's thread only; a waker may outlive everything.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::doorbell::Doorbell;

mod owner;
mod panics;
mod shared;
mod task;

pub use panics::{Panicked, catch_panic};
pub use task::{Task, TaskError};

use shared::{Refused, Shared};

/// Runs tasks on the thread that created it; owned by that thread's loop.
///
/// Dropping it cancels all tasks and drops their futures there and then. If another thread is in
/// the middle of a wake, the drop waits for the few instructions that are left of it.
pub struct Executor {
    spawner: Spawner,
    ran: u64,
}

/// Spawns onto an executor from its own thread, inside of tasks as well.
#[derive(Clone)]
pub struct Spawner {
    shared: Arc<Shared>,
    /// Queues and futures are the thread's own.
    _not_send: PhantomData<*mut ()>,
}

/// What an executor is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorConfig {
    /// How many tasks may live at a time; see [`Spawner::try_spawn`].
    pub tasks_max: usize,
    /// For how many tasks there is room before a queue grows; at most `tasks_max` are used.
    pub tasks_reserved: usize,
}

/// How long one [`Executor::run_within`] may go on.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits<'a> {
    /// Polls, at most.
    pub tasks_max: usize,
    /// The time, if anybody wants to look at it.
    pub clock: Option<RunClock<'a>>,
}

/// A clock for a run that watches the time; each look costs what `read` costs.
#[derive(Clone, Copy)]
pub struct RunClock<'a> {
    /// Reads the clock.
    pub read: &'a dyn Fn() -> Instant,
    /// Polls between two looks; with 1 the longest poll is known with its task's name.
    pub every: NonZeroUsize,
    /// When to stop although tasks are ready.
    pub stop_at: Option<Instant>,
}

/// What one run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    /// Tasks polled, or dropped because they were cancelled.
    pub ran: usize,
    /// Tasks that panicked, in a poll or in a destructor.
    pub panics: usize,
    /// Tasks that are ready now.
    pub ready: usize,
    /// The run ended at [`RunClock::stop_at`].
    pub out_of_time: bool,
    /// The longest stretch between two looks at the clock.
    pub longest: Option<Stretch>,
}

/// A stretch of polls and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// How long.
    pub took: Duration,
    /// The name of the task, if the stretch was one poll.
    pub task: Option<&'static str>,
}

/// An executor's counters since its creation, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutorStats {
    /// Tasks that have not ended.
    pub live: usize,
    /// Tasks spawned.
    pub spawned_total: u64,
    /// Polls, and drops of cancelled tasks.
    pub ran_total: u64,
    /// Tasks that panicked.
    pub panics_total: u64,
    /// Spawns that met `tasks_max` live tasks, refused or not.
    pub over_max_total: u64,
}

/// `tasks_max` tasks live; the future comes back.
pub struct TasksFull<F>(pub F);

impl Executor {
    /// An executor for this thread.
    ///
    /// It shares the doorbell of the thread's mailboxes, or has one of its own from a `Waker`.
    #[must_use]
    pub fn new(doorbell: impl Into<Doorbell>) -> Self {
        Self::with_config(doorbell.into(), &ExecutorConfig::default())
    }

    /// As [`new`](Self::new), with its limits.
    #[must_use]
    pub fn with_config(doorbell: Doorbell, config: &ExecutorConfig) -> Self {
        let reserved = config.tasks_reserved.min(config.tasks_max);
        Self {
            spawner: Spawner {
                shared: Shared::new(doorbell, config.tasks_max, reserved),
                _not_send: PhantomData,
            },
            ran: 0,
        }
    }

    /// A handle for spawning; it may outlive the executor, whose end turns its tasks cancelled.
    #[must_use]
    pub fn handle(&self) -> Spawner {
        self.spawner.clone()
    }

    /// As [`Spawner::spawn`].
    pub fn spawn<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.spawner.spawn(future)
    }

    /// Polls the tasks that are ready now, `max` at most; returns how many it polled.
    ///
    /// What becomes ready meanwhile waits for the next run, so that a run ends.
    pub fn run(&mut self, max: usize) -> usize {
        let limits = RunLimits {
            tasks_max: max,
            clock: None,
        };
        self.run_within(&limits).ran
    }

    /// As [`run`](Self::run), with an eye on the time if `limits` has a clock.
    pub fn run_within(&mut self, limits: &RunLimits<'_>) -> RunStats {
        let shared = &self.spawner.shared;
        let panics_before = self.panics_total();
        let quota = shared.collect().min(limits.tasks_max);
        let mut stats = RunStats::default();
        let mut watch = limits.clock.as_ref().map(Watch::start);
        while stats.ran < quota {
            let Some(runnable) = shared.pop() else {
                break;
            };
            let name = runnable.metadata().name();
            runnable.run();
            stats.ran += 1;
            if let Some(watch) = &mut watch {
                stats.out_of_time = watch.polled(name);
                if stats.out_of_time {
                    break;
                }
            }
        }
        stats.longest = watch.and_then(Watch::stop);
        stats.ready = shared.collect();
        stats.panics = (self.panics_total() - panics_before) as usize;
        self.ran += stats.ran as u64;
        stats
    }

    /// Whether no task is ready.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let shared = &self.spawner.shared;
        shared.woken.is_empty() && shared.local.with(|local| local.ready.is_empty()) == Some(true)
    }

    /// Whether the thread may wait as far as the executor goes; see [`Doorbell::prepare_park`].
    #[must_use]
    pub fn prepare_park(&self) -> bool {
        self.doorbell().prepare_park(|| !self.is_idle())
    }

    /// Takes the sleeping flag down after the thread waited.
    pub fn unpark(&self) {
        self.doorbell().unpark();
    }

    /// The doorbell that foreign wakes ring.
    #[must_use]
    pub fn doorbell(&self) -> &Doorbell {
        &self.spawner.shared.doorbell
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> ExecutorStats {
        let stats = self.spawner.shared.local.with(|local| ExecutorStats {
            live: local.live.len(),
            spawned_total: local.spawned,
            ran_total: self.ran,
            panics_total: local.panics,
            over_max_total: local.over_max,
        });
        stats.unwrap_or_default()
    }

    fn panics_total(&self) -> u64 {
        self.spawner
            .shared
            .local
            .with(|local| local.panics)
            .unwrap_or(0)
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.spawner.shared.close();
    }
}

impl Spawner {
    /// Makes a task of `future`; the executor's next run polls it first.
    ///
    /// One allocation. Never refuses: a spawn beyond `tasks_max` is counted. The task's name is
    /// that of the future's type. After the executor's end the future is dropped and the task is
    /// cancelled.
    pub fn spawn<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.spawn_named(std::any::type_name::<F>(), future)
    }

    /// As [`spawn`](Self::spawn), with the name that a report of a long poll shows.
    pub fn spawn_named<F>(&self, name: &'static str, future: F) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        match self.shared.spawn(future, name, true) {
            Ok(task) => task,
            Err(Refused::Full(_) | Refused::Closed(_)) => Task::cancelled(),
        }
    }

    /// As [`spawn_named`](Self::spawn_named), unless `tasks_max` tasks live.
    ///
    /// # Errors
    ///
    /// Gives the future back.
    pub fn try_spawn<F>(
        &self,
        name: &'static str,
        future: F,
    ) -> Result<Task<F::Output>, TasksFull<F>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        match self.shared.spawn(future, name, false) {
            Ok(task) => Ok(task),
            Err(Refused::Full(future)) => Err(TasksFull(future)),
            Err(Refused::Closed(_)) => Ok(Task::cancelled()),
        }
    }
}

impl Default for ExecutorConfig {
    fn default() -> Self {
        Self {
            tasks_max: 65_536,
            tasks_reserved: 1_024,
        }
    }
}

/// Watches the time of one run.
struct Watch<'a> {
    clock: &'a RunClock<'a>,
    /// When the stretch began and how many polls it has.
    since: Instant,
    polls: usize,
    last: &'static str,
    longest: Option<Stretch>,
}

impl<'a> Watch<'a> {
    fn start(clock: &'a RunClock<'a>) -> Self {
        Self {
            clock,
            since: (clock.read)(),
            polls: 0,
            last: "",
            longest: None,
        }
    }

    /// After a poll; whether it is time to stop.
    fn polled(&mut self, name: &'static str) -> bool {
        self.polls += 1;
        self.last = name;
        if self.polls < self.clock.every.get() {
            return false;
        }
        let now = self.look();
        self.clock.stop_at.is_some_and(|stop_at| now >= stop_at)
    }

    fn stop(mut self) -> Option<Stretch> {
        if self.polls > 0 {
            self.look();
        }
        self.longest
    }

    fn look(&mut self) -> Instant {
        let now = (self.clock.read)();
        let took = now.saturating_duration_since(self.since);
        if self.longest.is_none_or(|longest| took > longest.took) {
            let task = (self.polls == 1).then_some(self.last);
            self.longest = Some(Stretch { took, task });
        }
        self.since = now;
        self.polls = 0;
        now
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Executor").field(&self.stats()).finish()
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawner").finish_non_exhaustive()
    }
}

impl fmt::Debug for RunClock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunClock")
            .field("every", &self.every)
            .field("stop_at", &self.stop_at)
            .finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for TasksFull<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TasksFull(..)")
    }
}

impl<F> fmt::Display for TasksFull<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the executor holds its maximum of tasks")
    }
}

impl<F> std::error::Error for TasksFull<F> {}

#[cfg(test)]
mod tests;
