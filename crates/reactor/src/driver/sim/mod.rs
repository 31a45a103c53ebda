//! The driver without a kernel: a network in one thread and in virtual time, from a seed.
//!
//! [`SimNet`] is the network, [`SimReactor`] one reactor on it. Segments are delayed, split and
//! stalled, connections reset and partitioned, all by [`SimConfig`] or on command; the layers above
//! run on it unchanged.

mod config;
mod dial;
mod net;
mod node;
mod reactor;
mod rng;
mod token;
mod trace;
mod traffic;
mod wire;
mod world;

pub use config::SimConfig;
pub use net::{Partition, SimNet};
pub use reactor::SimReactor;
pub use trace::SimTrace;
