//! The simulated network, by hazard.
#![cfg(not(loom))]

mod breakage;
mod harness;
mod limits;
mod seeds;
mod time;
mod transfer;
