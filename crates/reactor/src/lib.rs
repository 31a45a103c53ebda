//! Completion-style I/O for one thread: io_uring, epoll and simulation drivers.
//!
//! [`Reactor`] is the seam: a driver listens, connects, receives, sends and wakes, and reports
//! [`Event`]s. It knows bytes and descriptors and nothing above them. All unsafe code of the
//! project lives in this crate.

pub mod address;
pub mod config;
pub mod driver;
pub mod event;
pub mod probe;
mod reactor;
mod socket;
pub mod stats;
pub mod wake;

pub use address::{Address, AddressParseError};
pub use config::{DriverConfig, IdlePolicy, ListenOptions, SocketOptions};
pub use event::{Event, ListenerId, PollId, RecvBuf, SocketId};
pub use probe::{IoChoice, IoKind, ProbeError, Resolved};
pub use reactor::Reactor;
pub use stats::IoStats;
pub use wake::{Waker, WakerKind};
