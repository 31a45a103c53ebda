//! A reactor on a simulated network.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::event::PollFlags;

use super::node::{Node, Seat};
use super::token::is_ready;
use super::traffic::Read;
use super::wire::Ending;
use super::world::World;
use crate::IoKind;
use crate::address::Address;
use crate::config::{ListenOptions, SocketOptions};
use crate::driver::pool::Pool;
use crate::event::{Event, ListenerId, PollId, RecvBuf, SocketId};
use crate::reactor::Reactor;
use crate::stats::IoStats;
use crate::wake::Waker;

/// A [`Reactor`] on a [`SimNet`](super::SimNet).
///
/// [`turn`](Reactor::turn) never waits: it collects what has come up to the present virtual time
/// and notes its `until`, up to which the network then moves time when all are idle. Descriptors
/// of [`Event::Accepted`] can be adopted by any reactor of the same network, and by no other
/// driver. [`poll_fd`](Reactor::poll_fd) looks at real descriptors, so a run is only repeatable if
/// they are written to from this thread.
#[derive(Debug)]
pub struct SimReactor {
    world: Rc<RefCell<World>>,
    node: usize,
    pool: Pool,
    events: VecDeque<Event>,
    polls: Vec<PollId>,
    now: Instant,
    stats: IoStats,
}

impl SimReactor {
    pub(super) fn new(world: Rc<RefCell<World>>, host: &str) -> Self {
        let (node, pool, now) = {
            let mut world = world.borrow_mut();
            let now = world.now();
            world.nodes.push(Node::new(host.into(), now));
            (world.nodes.len() - 1, Pool::new(&world.config.driver), now)
        };
        let mut stats = IoStats::default();
        pool.report(&mut stats);
        Self {
            world,
            node,
            pool,
            events: VecDeque::new(),
            polls: Vec::new(),
            now,
            stats,
        }
    }

    fn check_room(&mut self) -> io::Result<()> {
        let world = self.world.borrow();
        let max = world.config.driver.sockets_max;
        if world.nodes[self.node].sockets < max {
            return Ok(());
        }
        self.stats.sockets_refused += 1;
        let text = format!("sockets_max of {max} reached");
        Err(io::Error::new(io::ErrorKind::QuotaExceeded, text))
    }

    fn poll_descriptors(&mut self, world: &mut World) {
        let node = &mut world.nodes[self.node];
        for &poll in &self.polls {
            if let Some(Seat::Poll(fd)) = node.seats.at(poll.index(), poll.generation())
                && is_ready(fd, PollFlags::IN)
            {
                self.events.push_back(Event::Readable { poll });
            }
        }
    }

    /// One receive of each readable socket, as far as buffers and the turn's limit reach.
    fn receive(&mut self, world: &mut World) {
        let events_max = world.config.driver.events_per_turn_max as usize;
        for _ in 0..world.nodes[self.node].readable.len() {
            if self.events.len() >= events_max {
                self.stats.turns_cut += 1;
                return;
            }
            if self.pool.is_exhausted() {
                self.stats.enobufs += 1;
                return;
            }
            let Some(id) = world.nodes[self.node].readable.pop_front() else {
                return;
            };
            self.receive_one(world, id);
        }
    }

    fn receive_one(&mut self, world: &mut World, id: SocketId) {
        let quota = world.config.driver.recv_quota();
        let Some(socket) = world.nodes[self.node].socket(id) else {
            return;
        };
        socket.queued = false;
        if socket.held >= quota {
            socket.paused = true;
            self.stats.quota_pauses += 1;
            return;
        }
        let (wire, side) = (socket.wire, socket.side);
        let Some(space) = self.pool.next_free() else {
            return;
        };
        let read = world.read(wire, side, space);
        let (event, bytes): (_, &[u8]) = match read {
            Read::Nothing => return,
            Read::Bytes(len) => {
                let Some(index) = self.pool.lend() else {
                    unreachable!("a buffer was free")
                };
                self.pool.report(&mut self.stats);
                self.stats.recvs += 1;
                self.stats.recv_bytes += len as u64;
                let buf = RecvBuf {
                    index,
                    len: len as u32,
                    owner: id,
                };
                let bytes = self.pool.filled(&buf);
                (Event::Received { socket: id, buf }, bytes)
            }
            Read::Ended(Ending::Fin) => (Event::Eof { socket: id }, &[]),
            Read::Ended(Ending::Reset) => {
                let error = io::ErrorKind::ConnectionReset.into();
                (Event::Failed { socket: id, error }, &[])
            }
        };
        world.note(self.node, &event, bytes);
        if let Some(socket) = world.nodes[self.node].socket(id) {
            match read {
                Read::Bytes(_) => socket.held += 1,
                Read::Nothing | Read::Ended(_) => socket.receiving = false,
            }
        }
        world.note_readable(wire, side);
        self.events.push_back(event);
    }
}

impl Reactor for SimReactor {
    fn now(&self) -> Instant {
        self.now
    }

    fn io(&self) -> IoKind {
        IoKind::Sim
    }

    fn listen(
        &mut self,
        address: &Address,
        options: &ListenOptions,
    ) -> io::Result<(ListenerId, Address)> {
        self.world.borrow_mut().listen(self.node, address, options)
    }

    fn unlisten(&mut self, listener: ListenerId) {
        self.world.borrow_mut().unlisten(self.node, listener);
    }

    fn adopt(&mut self, fd: OwnedFd, _options: &SocketOptions) -> io::Result<SocketId> {
        self.check_room()?;
        self.world.borrow_mut().adopt(self.node, &fd)
    }

    fn connect(&mut self, address: &Address, _options: &SocketOptions) -> io::Result<SocketId> {
        self.check_room()?;
        self.stats.connects += 1;
        Ok(self.world.borrow_mut().connect(self.node, address))
    }

    fn send(&mut self, socket: SocketId, buf: Vec<u8>) {
        self.stats.sends += 1;
        self.world.borrow_mut().send(self.node, socket, buf);
    }

    fn close(&mut self, socket: SocketId) {
        self.world.borrow_mut().close(self.node, socket);
    }

    fn poll_fd(&mut self, fd: OwnedFd) -> io::Result<PollId> {
        let (index, generation) = self.world.borrow_mut().nodes[self.node].seat(Seat::Poll(fd));
        let poll = PollId::new(index, generation);
        self.polls.push(poll);
        Ok(poll)
    }

    fn unpoll(&mut self, poll: PollId) {
        let before = self.polls.len();
        self.polls.retain(|&other| other != poll);
        if self.polls.len() < before {
            let node = &mut self.world.borrow_mut().nodes[self.node];
            node.seats.remove(poll.index(), poll.generation());
        }
    }

    fn bytes<'a>(&'a self, buf: &'a RecvBuf) -> &'a [u8] {
        self.pool.filled(buf)
    }

    fn recycle(&mut self, buf: RecvBuf) {
        self.pool.take_back(buf.index);
        self.pool.report(&mut self.stats);
        let world = &mut *self.world.borrow_mut();
        let quota = world.config.driver.recv_quota();
        let node = &mut world.nodes[self.node];
        node.exhausted = false;
        let Some(socket) = node.socket(buf.owner) else {
            return;
        };
        socket.held -= 1;
        if socket.paused && socket.held < quota {
            socket.paused = false;
            let (wire, side) = (socket.wire, socket.side);
            world.note_readable(wire, side);
        }
    }

    fn waker(&self) -> Waker {
        Waker::flag(Arc::clone(&self.world.borrow().nodes[self.node].woken))
    }

    fn turn(&mut self, until: Option<Instant>) -> io::Result<()> {
        let world = Rc::clone(&self.world);
        let world = &mut *world.borrow_mut();
        world.sweep_dropped();
        self.now = world.now();
        self.stats.turns += 1;
        let before = self.events.len();
        let node = &mut world.nodes[self.node];
        self.stats.wakes += u64::from(node.woken.swap(false, Ordering::SeqCst));
        self.events.append(&mut node.inbox);
        self.poll_descriptors(world);
        self.receive(world);
        self.stats.events += (self.events.len() - before) as u64;
        let node = &mut world.nodes[self.node];
        node.until = until;
        node.exhausted = self.pool.is_exhausted();
        Ok(())
    }

    fn next_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        let node = &mut self.world.borrow_mut().nodes[self.node];
        match &event {
            Event::Accepted { .. } => self.stats.accepts += 1,
            Event::AcceptFailed { .. } => {
                self.stats.accepts_failed += 1;
                self.stats.accepts_backed_off += 1;
            }
            Event::Sent {
                socket,
                buf,
                result,
            } => {
                if result.is_ok() {
                    self.stats.send_bytes += buf.len() as u64;
                }
                if let Some(socket) = node.socket(*socket) {
                    socket.sending = false;
                }
            }
            Event::Closed { socket, .. } => {
                node.seats.remove(socket.index(), socket.generation());
            }
            Event::ConnectFailed { socket, .. } => {
                self.stats.connects_failed += 1;
                node.seats.remove(socket.index(), socket.generation());
            }
            Event::Connected { .. }
            | Event::Received { .. }
            | Event::Eof { .. }
            | Event::Failed { .. }
            | Event::Readable { .. } => {}
        }
        Some(event)
    }

    fn stats(&self) -> &IoStats {
        &self.stats
    }

    fn in_flight(&self) -> usize {
        self.world.borrow().nodes[self.node].seats.len()
    }
}

impl Drop for SimReactor {
    fn drop(&mut self) {
        // A drop in the middle of a panic may find the world borrowed.
        if let Ok(mut world) = self.world.try_borrow_mut() {
            world.bury(self.node);
        }
    }
}
