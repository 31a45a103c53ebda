//! The simulated network, by hazard.
#![cfg(not(loom))]
#![expect(
    clippy::unwrap_used,
    reason = "a failed helper of a test is a failed test"
)]

mod breakage;
mod harness;
mod limits;
mod seeds;
mod time;
mod transfer;
