//! The whole plane on a simulated network, one module per hazard; every run is made by a seed.

mod check;
mod keepalive;
mod manual;
mod memory;
mod plan;
mod repeat;
mod run;
mod storm;
