//! The whole plane on a simulated network, one module per hazard; every run is made by a seed.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests, as tests do"
)]

mod check;
mod death;
mod keepalive;
mod lifecycle;
mod manual;
mod memory;
mod plan;
mod repeat;
mod run;
mod slow;
mod storm;
mod support;
