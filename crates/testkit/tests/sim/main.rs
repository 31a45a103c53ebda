//! The whole plane on a simulated network, one module per hazard; every run is made by a seed.

mod check;
mod death;
mod keepalive;
mod manual;
mod memory;
mod plan;
mod repeat;
mod run;
mod slow;
mod storm;
mod support;
