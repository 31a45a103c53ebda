//! The items of a paced load on one socket: what open-loop latency there is without a plane.
//!
//! ```text
//!  client                                  server: one thread
//!  Ask: when each stream's items are due ->
//!  one thread reads, takes times         <- sleeps until the next item is due, then writes
//!                                           every item that is due by now with one call
//! ```
//!
//! The schedule is the harness's own, at instants that the client chooses: both ends have one
//! clock.

mod ask;
mod client;
mod frame;
mod schedule;
mod server;
mod tally;

pub(super) use self::client::drive;
pub(super) use self::server::serve;
