//! Two connections against each other in virtual time, by hazard.

mod cancel;
mod credit;
mod drain;
mod fairness;
mod flood;
mod handshake;
mod harness;
mod keepalive;
mod limits;
mod messages;
mod operations;
mod script;
mod split;
