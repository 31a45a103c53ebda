//! The built command in processes of its own, one module per hazard.

#![allow(clippy::unwrap_used, reason = "tests state what must hold")]

mod addresses;
mod demo;
mod drain;
mod drivers;
mod failures;
mod loss;
mod process;
mod setup;
mod talk;
