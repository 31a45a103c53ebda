//! What every benchmarked system shares: the work to do, the meters, and one process entry.
//!
//! A system supplies [`System`] (a server, and a client that starts [`Job`]s on its own
//! executor), [`Caller`] and [`Items`]. All the rest, the engine that produces items
//! ([`Producer`]), the load ([`drive`]) and the process itself ([`entry::main`]), is this crate,
//! so that two systems differ in nothing but their transport.
//!
//! ```text
//!  server process                         client process
//!  entry -> System::serve                 entry -> System::connect -> Launcher
//!    transport -> Producer -> items  ===>   Items <- Caller <- run_job <- drive(plan)
//! ```
//!
//! It knows no system, not even ours, and starts no process: `ringmain-bench` does.

#![forbid(unsafe_code)]

mod board;
mod caller;
mod cancels;
mod clock;
mod drive;
pub mod entry;
mod gate;
mod job;
mod loads;
mod plan;
mod process;
mod producer;
mod report;
mod request;
mod ticker;
mod tracer;
mod window;

pub use board::{Board, Counts, Latency, histogram};
pub use caller::{Caller, Failure, Items, Launcher, Serving, System};
pub use clock::now_ns;
pub use drive::drive;
pub use gate::Gate;
pub use job::{Job, Template, Timed, Work, run_job};
pub use loads::paced_requests;
pub use plan::{ConnectArgs, Load, Plan, PlanKind, ServeArgs, option};
pub use producer::{Producer, Timer, next_on_grid, read_words, write_words};
pub use report::{Rep, float};
pub use request::{ITEM_BYTES_MIN, Kind, REQUEST_BYTES, Request};
pub use ringmain_bench_allocator::CountingAllocator;
pub use ticker::Ticker;
pub use window::Window;
