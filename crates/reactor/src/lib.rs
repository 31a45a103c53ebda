//! Completion-style I/O for one thread: io_uring, epoll and simulation drivers.
//!
//! [`Reactor`] is the seam: a driver listens, connects, receives, sends and wakes, and reports
//! [`Event`]s. It knows bytes and descriptors and nothing above them. All unsafe code of the
//! project lives in this crate.

#[cfg(not(loom))]
pub mod address;
#[cfg(not(loom))]
pub mod config;
pub mod doorbell;
#[cfg(not(loom))]
pub mod driver;
#[cfg(not(loom))]
pub mod event;
#[cfg(not(loom))]
pub mod exec;
#[cfg_attr(
    all(loom, not(test)),
    expect(dead_code, reason = "only its model checks use it then")
)]
mod inbox;
pub mod mailbox;
#[cfg(not(loom))]
pub mod probe;
#[cfg(not(loom))]
mod reactor;
#[cfg(not(loom))]
mod socket;
#[cfg(not(loom))]
pub mod stats;
mod sync;
#[cfg(not(loom))]
pub mod timer;
#[cfg(not(loom))]
pub mod wake;
#[cfg(loom)]
pub mod wake_model;

#[cfg(not(loom))]
pub use address::{Address, AddressParseError};
#[cfg(not(loom))]
pub use config::{DriverConfig, IdlePolicy, ListenOptions, SocketOptions};
#[cfg(not(loom))]
pub use event::{Event, ListenerId, PollId, RecvBuf, SocketId};
#[cfg(not(loom))]
pub use probe::{IoChoice, IoKind, ProbeError, Resolved};
#[cfg(not(loom))]
pub use reactor::Reactor;
#[cfg(not(loom))]
pub use ringmain_tuning::pin_current_thread;
#[cfg(not(loom))]
pub use stats::IoStats;
#[cfg(not(loom))]
pub use wake::{Waker, WakerKind};
