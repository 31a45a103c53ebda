//! What every registry promises, checked on each backend; then what only some can promise.
//!
//! Waits are for conditions, bounded by a time that only a broken build reaches.

#![expect(
    clippy::expect_used,
    reason = "tests and their helpers fail by panicking"
)]

mod every;
mod file;
mod static_list;
mod support;
