//! Two connections against each other in virtual time, by hazard.

#![allow(clippy::unwrap_used, reason = "tests state what must hold")]

mod cancel;
mod credit;
mod drain;
mod fairness;
mod flood;
mod handshake;
mod harness;
mod hostile;
mod keepalive;
mod limits;
mod messages;
mod operations;
mod script;
mod side;
mod split;
