//! What every peer on tokio shares: its runtime, its timers, and the start of its jobs.
#![forbid(unsafe_code)]

use std::time::Duration;

use anyhow::Context as _;
use ringmain_bench_harness::{Job, Launcher, Timer, now_ns, option};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::Sleep;

/// A multi-threaded runtime. One worker thread unless `workers=N` is among the options: a side
/// has one core.
///
/// # Errors
///
/// If the option is no number, or threads cannot be started.
pub fn runtime(set: &[String], workers: usize) -> anyhow::Result<Runtime> {
    let workers = match option(set, "workers") {
        Some(text) => text.parse().context("workers is no number")?,
        None => workers,
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers.max(1))
        .enable_all()
        .build()?;
    Ok(runtime)
}

/// Timers of tokio.
#[derive(Clone, Copy, Debug)]
pub struct TokioTimer;

impl Timer for TokioTimer {
    type Sleep = Sleep;

    fn sleep_until(&self, at_ns: u64) -> Sleep {
        tokio::time::sleep(Duration::from_nanos(at_ns.saturating_sub(now_ns())))
    }
}

/// Starts jobs on a runtime. `spawn` does it for one peer's caller: only with the caller's type
/// known does the compiler see that its jobs may move between threads.
pub struct Jobs<F> {
    runtime: Runtime,
    lanes: usize,
    spawn: F,
}

impl<F: Fn(&Handle, Job)> Jobs<F> {
    /// Jobs for the caller inside `spawn`.
    pub fn new(runtime: Runtime, lanes: usize, spawn: F) -> Self {
        Self {
            runtime,
            lanes: lanes.max(1),
            spawn,
        }
    }
}

impl<F: Fn(&Handle, Job) + Send + Sync + 'static> Launcher for Jobs<F> {
    fn launch(&self, _lane: usize, job: Job) {
        (self.spawn)(self.runtime.handle(), job);
    }

    fn lanes(&self) -> usize {
        self.lanes
    }
}
