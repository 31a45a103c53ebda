//! The drivers behind [`Reactor`](crate::Reactor).

pub mod epoll;
mod pool;
pub mod sim;
mod slots;
pub mod uring;
