//! The io_uring driver.
//!
//! One ring for one thread. Receives are multishot into one ring of provided buffers; a socket has
//! one send in flight. Memory that the kernel uses stays in its slot until the final completion.

mod bufring;
mod op;
mod region;
mod ring;
mod setup;
mod shutdown;
mod slot;
mod spin;
mod sys;
mod token;
mod turn;

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::time::Instant;

use crate::IoKind;
use crate::address::Address;
use crate::config::{DriverConfig, ListenOptions, SocketOptions};
use crate::driver::slots::Slots;
use crate::event::{Event, ListenerId, PollId, RecvBuf, SocketId};
use crate::reactor::Reactor;
use crate::stats::IoStats;
use crate::wake::Waker;

use bufring::BufRing;
use op::{Alarm, WakeSource};
use ring::{Completion, Ring};
use setup::Sizes;
use slot::{Listener, Poll, Socket};
use spin::Spinner;

pub use shutdown::leaked_operations;

/// Most listeners and most polled descriptors of a driver.
const SIDE_SLOTS_MAX: u32 = 1024;

/// The io_uring driver of one thread.
///
/// It belongs to the thread that made it. Dropping it cancels everything and waits at most
/// [`DriverConfig::shutdown_wait`] for the kernel to let go.
pub struct Uring {
    ring: Ring,
    bufs: BufRing,
    wake: WakeSource,
    config: DriverConfig,
    quota: u32,
    now: Instant,
    sockets: Slots<Socket>,
    listeners: Slots<Listener>,
    polls: Slots<Poll>,
    /// Operations of slots whose final completion has not come.
    ops: usize,
    /// The same for the driver's own wake-up poll.
    wake_ops: usize,
    /// The driver's own timeout, which is no operation of a slot either.
    alarm: Alarm,
    events: VecDeque<Event>,
    batch: Vec<Completion>,
    /// Sockets that wait for a free receive buffer; bounded by the sockets.
    starved: VecDeque<SocketId>,
    quota_checks: Vec<SocketId>,
    unfinished: Vec<SocketId>,
    poll_rearms: Vec<PollId>,
    backoffs: VecDeque<(Instant, ListenerId)>,
    lingers: VecDeque<(Instant, SocketId)>,
    spinner: Spinner,
    stats: IoStats,
    /// A ring serves one thread.
    _not_send: PhantomData<*const ()>,
}

impl Uring {
    /// Makes a driver for the calling thread.
    ///
    /// # Errors
    ///
    /// When the kernel refuses a ring or its buffer ring; [`crate::probe`] explains why.
    pub fn new(config: &DriverConfig) -> io::Result<Self> {
        let ring = Ring::new(Sizes::new(config.sq_entries, config.cq_entries))?;
        let wake = WakeSource::new(&ring, config.msg_ring)?;
        let bufs = BufRing::new(ring.io(), config.recv_buffers, config.recv_buffer_bytes)?;
        let mut driver = Self {
            ring,
            wake,
            quota: config.recv_quota(),
            now: Instant::now(),
            sockets: Slots::new(config.sockets_max.min(token::SLOTS_MAX)),
            listeners: Slots::new(SIDE_SLOTS_MAX),
            polls: Slots::new(SIDE_SLOTS_MAX),
            ops: 0,
            wake_ops: 0,
            alarm: Alarm::default(),
            events: VecDeque::new(),
            batch: Vec::new(),
            starved: VecDeque::new(),
            quota_checks: Vec::new(),
            unfinished: Vec::new(),
            poll_rearms: Vec::new(),
            backoffs: VecDeque::new(),
            lingers: VecDeque::new(),
            spinner: Spinner::new(config.idle),
            stats: IoStats {
                buffers_total: u64::from(bufs.total()),
                ..IoStats::default()
            },
            config: config.clone(),
            bufs,
            _not_send: PhantomData,
        };
        driver.count_buffers();
        Ok(driver)
    }

    /// What the ring came to on this kernel, in one line for the start-up log.
    #[must_use]
    pub fn describe(&self) -> String {
        let params = self.ring.io().params();
        format!(
            "flags={} sq={} cq={} recv_buffers={} wake={}",
            self.ring.flags(),
            params.sq_entries(),
            params.cq_entries(),
            self.bufs.total(),
            self.wake.waker().kind(),
        )
    }
}

impl Reactor for Uring {
    fn now(&self) -> Instant {
        self.now
    }

    fn io(&self) -> IoKind {
        IoKind::Uring
    }

    fn listen(
        &mut self,
        address: &Address,
        options: &ListenOptions,
    ) -> io::Result<(ListenerId, Address)> {
        self.start_listen(address, options)
    }

    fn unlisten(&mut self, listener: ListenerId) {
        self.stop_listen(listener);
    }

    fn adopt(&mut self, fd: OwnedFd, options: &SocketOptions) -> io::Result<SocketId> {
        self.start_adopt(fd, options)
    }

    fn connect(&mut self, address: &Address, options: &SocketOptions) -> io::Result<SocketId> {
        self.start_connect(address, options)
    }

    fn send(&mut self, socket: SocketId, buf: Vec<u8>) {
        self.start_send(socket, buf);
    }

    fn close(&mut self, socket: SocketId) {
        self.start_close(socket);
    }

    fn poll_fd(&mut self, fd: OwnedFd) -> io::Result<PollId> {
        self.start_poll(fd)
    }

    fn unpoll(&mut self, poll: PollId) {
        self.stop_poll(poll);
    }

    fn bytes<'a>(&'a self, buf: &'a RecvBuf) -> &'a [u8] {
        self.bufs
            .bytes(u16::try_from(buf.index).unwrap_or(u16::MAX), buf.len)
    }

    fn recycle(&mut self, buf: RecvBuf) {
        self.take_back(&buf);
    }

    fn waker(&self) -> Waker {
        self.wake.waker()
    }

    fn turn(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.take_turn(until)
    }

    fn spin(&mut self, until: Option<Instant>, has_mail: &dyn Fn() -> bool) -> bool {
        self.spin_before_park(until, has_mail)
    }

    fn next_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.stats.events += 1;
        if let Event::Closed { socket, .. } | Event::ConnectFailed { socket, .. } = &event {
            self.sockets.reuse(socket.index());
        }
        Some(event)
    }

    fn stats(&self) -> &IoStats {
        &self.stats
    }

    fn in_flight(&self) -> usize {
        self.sockets.len() + self.listeners.len() + self.polls.len() + self.ops
    }
}

#[cfg(test)]
mod tests;
