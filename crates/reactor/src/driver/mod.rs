//! The drivers behind [`Reactor`](crate::Reactor).

pub mod epoll;
mod pool;
