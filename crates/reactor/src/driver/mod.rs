//! The drivers behind [`Reactor`](crate::Reactor).
