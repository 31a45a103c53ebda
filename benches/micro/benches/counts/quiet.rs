//! A driver whose work is not counted.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use ringmain_reactor::driver::sim::SimReactor;
use ringmain_reactor::{
    Address, Event, IoKind, IoStats, ListenOptions, ListenerId, PollId, Reactor, RecvBuf, SocketId,
    SocketOptions, Waker,
};

use crate::meter::uncounted;

/// The simulation, which fingerprints each byte that passes, left out of the count: what remains
/// is the shard's own.
pub(crate) struct Quiet(pub(crate) SimReactor);

impl Reactor for Quiet {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn io(&self) -> IoKind {
        self.0.io()
    }

    fn listen(
        &mut self,
        address: &Address,
        options: &ListenOptions,
    ) -> io::Result<(ListenerId, Address)> {
        self.0.listen(address, options)
    }

    fn unlisten(&mut self, listener: ListenerId) {
        self.0.unlisten(listener);
    }

    fn adopt(&mut self, fd: OwnedFd, options: &SocketOptions) -> io::Result<SocketId> {
        self.0.adopt(fd, options)
    }

    fn connect(&mut self, address: &Address, options: &SocketOptions) -> io::Result<SocketId> {
        self.0.connect(address, options)
    }

    fn send(&mut self, socket: SocketId, buf: Vec<u8>) {
        uncounted(|| self.0.send(socket, buf));
    }

    fn close(&mut self, socket: SocketId) {
        self.0.close(socket);
    }

    fn poll_fd(&mut self, fd: OwnedFd) -> io::Result<PollId> {
        self.0.poll_fd(fd)
    }

    fn unpoll(&mut self, poll: PollId) {
        self.0.unpoll(poll);
    }

    fn bytes<'a>(&'a self, buf: &'a RecvBuf) -> &'a [u8] {
        self.0.bytes(buf)
    }

    fn recycle(&mut self, buf: RecvBuf) {
        uncounted(|| self.0.recycle(buf));
    }

    fn waker(&self) -> Waker {
        self.0.waker()
    }

    fn turn(&mut self, until: Option<Instant>) -> io::Result<()> {
        uncounted(|| self.0.turn(until))
    }

    fn next_event(&mut self) -> Option<Event> {
        uncounted(|| self.0.next_event())
    }

    fn stats(&self) -> &IoStats {
        self.0.stats()
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }
}
