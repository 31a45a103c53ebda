//! The serving role of a shard set: admission, dispatch, handlers, drain.
//!
//! ```text
//!  link -> ServerLink: OPEN -> endpoint table -> Admission -> handler -> sink -> link
//!            (per link)        (per shard)       (process)    LocalHandler on the shard,
//!                                                             Handler on a tokio runtime,
//!                                                             StepWriter from an engine thread
//! ```
//!
//! [`Server`] is what a process makes; handlers implement [`LocalHandler`] or `Handler`; an engine
//! that steps many streams at once pushes through a [`StepWriter`].
//!
//! It starts no thread, knows no registry, and never looks into a payload.

#![forbid(unsafe_code)]

mod admission;
mod classes;
mod config;
mod drain;
mod error;
mod request;
mod role;
mod server;
mod service;
mod shard_state;
mod sink;
mod step;
mod terminal;

pub use config::{Keepalive, OnDisconnect, ServerConfig};
pub use drain::{DrainOutcome, Drained};
pub use error::{HandlerError, ServeError, SinkError};
pub use request::{Cancelled, Context, Request, RequestHead};
pub use server::Server;
#[cfg(feature = "tokio")]
pub use service::{Handler, Input};
pub use service::{LocalHandler, LocalInput};
pub use sink::{LocalSink, Sink};
pub use step::{Finished, FlushReport, Push, StepSink, StepWriter};
pub use terminal::Terminal;
