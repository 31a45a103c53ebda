//! Workers, clients and hostile peers for the tests of the whole plane.
//!
//! [`Worker`] is a real server on real sockets, [`Rig`] adds a registry and a client, and
//! [`RawPeer`] speaks the protocol by hand, as well or as badly as a test wants. [`sim`] runs whole
//! processes on a simulated network instead, in one thread and from a seed.

#![forbid(unsafe_code)]

mod counts;
mod handlers;
mod peer;
mod rig;
pub mod sim;
mod worker;

pub use counts::{eventually, open_descriptors};
pub use handlers::{COUNT, ECHO, HANG, PANIC, TAKE};
pub use peer::{RawPeer, Seen};
pub use rig::{HomeKind, Rig};
pub use worker::{Worker, WorkerConfig, drivers};
