//! The one seam between bytes in motion and the kernel.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use crate::IoKind;
use crate::address::Address;
use crate::config::{ListenOptions, SocketOptions};
use crate::event::{Event, ListenerId, PollId, RecvBuf, SocketId};
use crate::stats::IoStats;
use crate::wake::Waker;

/// One thread's I/O: listen, connect, receive, send, wake, and nothing above bytes.
///
/// Completion style: a call starts an operation and an [`Event`] reports its end. Every method is
/// called on the thread that created the driver; only the [`Waker`] may leave it. The type is a
/// parameter of the layers directly above, so calls are static.
pub trait Reactor {
    /// The time of this turn, read once by [`turn`](Self::turn).
    fn now(&self) -> Instant;

    /// Which driver this is.
    fn io(&self) -> IoKind;

    /// Binds and listens; returns the address really bound (a port of 0 is filled in).
    ///
    /// # Errors
    ///
    /// The operating system's error of `socket`, `bind` or `listen`.
    fn listen(
        &mut self,
        address: &Address,
        options: &ListenOptions,
    ) -> io::Result<(ListenerId, Address)>;

    /// Stops accepting and closes the listener.
    fn unlisten(&mut self, listener: ListenerId);

    /// Takes over a connected socket and starts to receive from it.
    ///
    /// # Errors
    ///
    /// When the descriptor cannot be registered or its options cannot be set.
    fn adopt(&mut self, fd: OwnedFd, options: &SocketOptions) -> io::Result<SocketId>;

    /// Starts to connect; `Connected` or `ConnectFailed` follows.
    ///
    /// # Errors
    ///
    /// When the socket cannot be created.
    fn connect(&mut self, address: &Address, options: &SocketOptions) -> io::Result<SocketId>;

    /// Sends all of `buf`; the driver owns it until `Sent` or `Closed` gives it back.
    ///
    /// # Panics
    ///
    /// When a send of this socket is in flight already.
    fn send(&mut self, socket: SocketId, buf: Vec<u8>);

    /// Cancels what is in flight and closes; `Closed` follows once every operation is terminal.
    ///
    /// Bytes of a completed send are not lost: a socket whose peer has not acknowledged them stays
    /// until the peer ends its side, at most for [`DriverConfig::linger`](crate::DriverConfig).
    /// What is received in the meantime is dropped.
    fn close(&mut self, socket: SocketId);

    /// Watches a foreign descriptor; `Readable` reports each time it has something to read.
    ///
    /// # Errors
    ///
    /// When the descriptor cannot be polled.
    fn poll_fd(&mut self, fd: OwnedFd) -> io::Result<PollId>;

    /// Stops watching and closes the descriptor.
    fn unpoll(&mut self, poll: PollId);

    /// The bytes of a receive buffer.
    fn bytes<'a>(&'a self, buf: &'a RecvBuf) -> &'a [u8];

    /// Gives a receive buffer back.
    fn recycle(&mut self, buf: RecvBuf);

    /// A handle with which any thread makes a waiting [`turn`](Self::turn) return.
    fn waker(&self) -> Waker;

    /// Submits what is queued, waits until something happens or `until` passes (`None` = for
    /// ever, a time in the past = not at all), and collects completions.
    ///
    /// # Errors
    ///
    /// Only for a driver that cannot go on; a failed operation is an event.
    fn turn(&mut self, until: Option<Instant>) -> io::Result<()>;

    /// Spins in user space, as far as the idle policy allows, for a turn that would wait.
    ///
    /// Returns whether something is there: an event, `has_mail`, or `until` has passed. False means
    /// that waiting is right: set the sleeping flag, check the mailbox once more, and call
    /// [`turn`](Self::turn). It makes no system call; a policy of `Spin` returns true at the end of
    /// a slice, so that the caller turns without waiting. Without this call a driver never spins.
    fn spin(&mut self, until: Option<Instant>, has_mail: &dyn Fn() -> bool) -> bool {
        let _ = until;
        has_mail()
    }

    /// The next event that the last [`turn`](Self::turn) collected.
    fn next_event(&mut self) -> Option<Event>;

    /// Counters since creation.
    fn stats(&self) -> &IoStats;

    /// How many sockets, listeners, polls and kernel operations are alive; 0 after a shutdown.
    fn in_flight(&self) -> usize;
}
