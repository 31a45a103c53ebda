//! An operation a file: how it is submitted and what its completion means.

mod accept;
mod alarm;
mod cancel;
mod connect;
mod poll;
mod recv;
mod send;
mod wake;

pub(super) use alarm::Alarm;
pub(super) use wake::WakeSource;
