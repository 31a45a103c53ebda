//! Whole processes on a simulated network: one thread, virtual time, one seed.
//!
//! ```text
//!  SimWorld ── SimNet ── host "a": process (worker: server + shards) ── ledger of handlers
//!     │                  host "b": process (client: shards) ── caller tasks ── reports
//!     └── settle: turn every shard until none has work; then move time to what is next
//! ```
//!
//! [`SimWorld`] builds the processes and moves time, [`Job`] is what a call asks of a worker,
//! [`Ledger`] knows what the handlers did, and [`Errand`] is one call with all that its caller
//! does to it; it leaves a [`Report`]. Equal seeds and plans give equal runs.

mod caller;
mod engine;
mod job;
mod ledger;
mod process;
mod registry;
mod report;
mod rng;
mod worker;
mod world;

pub use caller::{Errand, Habit, Reports, Route, When};
pub use job::{Job, JobKind};
pub use ledger::{Ledger, Record};
pub use process::ProcessId;
pub use registry::SimRegistry;
pub use report::{Fate, Report};
pub use rng::SimRng;
pub use worker::WorkerPlan;
pub use world::SimWorld;
