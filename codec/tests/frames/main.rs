//! Frames and their layout: golden files, properties, edges of length, and the specification's
//! tables.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests state what must hold"
)]

mod edges;
mod fields;
mod golden;
mod names;
mod properties;
mod samples;
mod specification;
mod states;
