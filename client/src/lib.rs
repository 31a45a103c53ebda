//! The calling role: pick an instance, call it, stream the answer.
//!
//! ```text
//!  Client::call ──> pick (snapshot, evidence) ──> pool ──> link ──> OPEN
//!                      ^ next instance  <── dial failed, draining ──┘
//!  ResponseStream  <── tokens in batches <── Calls (streams of one link) <── bytes
//! ```
//!
//! A [`Client`] is built over a [`SnapshotSource`] (discovery) and a [`Home`]: the pinned threads
//! of a shard set, or the caller's tokio runtime. [`Client::call`] gives a [`ResponseStream`].
//! Tasks that run on a shard use a [`LocalClient`].
//!
//! A call is handed to the next instance only when it has certainly not reached a handler.
//! Everything else goes to the caller, with what is known ([`StreamError::started`]): this crate
//! sends no request twice. It registers nothing and serves nothing.

#![forbid(unsafe_code)]

mod call;
mod calls;
mod client;
mod config;
mod driver;
mod end;
mod error;
mod home;
mod inhibit;
mod local;
mod pick;
mod pool;
mod response;
mod source;
#[cfg(test)]
mod testing;

pub use call::Call;
pub use calls::{Forward, Offered, Piece, PieceRef};
pub use client::{Client, ClientBuilder, Home};
pub use config::ClientConfig;
pub use end::EndInfo;
pub use error::{CallError, ConnectErrorKind, StreamError};
#[cfg(feature = "inline")]
pub use home::inline::{Connect, Connecting, Transport};
pub use local::{
    ForwardCall, ForwardEnd, LocalClient, LocalRequestSink, LocalStream, PieceStream, Waiting,
};
pub use pick::Policy;
pub use response::{RequestSink, ResponseStream, SinkError};
pub use source::{SnapshotSource, Watching};
