//! The driver for hosts that refuse io_uring: readiness from epoll, calls made at once.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::epoll::EventFlags;
use socket2::SockRef;

use self::idle::Idle;
use self::slot::{Entry, Outgoing, Phase, Socket, Table, WAKE_TOKEN};
use self::wait::Selector;
use super::pool::Pool;
use crate::address::Address;
use crate::config::{DriverConfig, ListenOptions, SocketOptions};
use crate::event::{Event, ListenerId, PollId, RecvBuf, SocketId};
use crate::reactor::Reactor;
use crate::stats::IoStats;
use crate::wake::{Waker, new_eventfd};
use crate::{IoKind, socket};

mod accept;
mod close;
mod idle;
mod receive;
mod slot;
mod transmit;
mod turn;
mod wait;

/// A [`Reactor`] on epoll.
///
/// Readiness is level-triggered, so a descriptor that was not served is reported again. Sends are
/// tried at once; what the kernel does not take waits for room. A socket that finds no receive
/// buffer, or holds its quota of them, is not watched until buffers come back.
pub struct Epoll {
    config: DriverConfig,
    selector: Selector,
    table: Table,
    sockets: u32,
    pool: Pool,
    events: VecDeque<Event>,
    /// Sockets whose interest may differ from what the kernel watches; settled by the next turn,
    /// when most have changed back or are closed.
    changed: Vec<SocketId>,
    /// Readable sockets that found no buffer or no room in the turn; first in the next.
    starved: VecDeque<SocketId>,
    /// Listeners out of descriptors or memory, not watched until then.
    backed_off: Vec<(ListenerId, Instant)>,
    /// Closed sockets whose peers have not taken everything yet, and when that ends.
    lingers: VecDeque<(Instant, SocketId)>,
    door: Arc<OwnedFd>,
    idle: Idle,
    now: Instant,
    turn: u64,
    stats: IoStats,
}

impl Epoll {
    /// Creates a driver for the calling thread.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors or memory.
    pub fn new(config: &DriverConfig) -> io::Result<Self> {
        let selector = Selector::new()?;
        let door = new_eventfd()?;
        // Edge-triggered: each write reports once, and nobody has to read the counter.
        selector.add(&door, WAKE_TOKEN, EventFlags::IN | EventFlags::ET)?;
        let mut stats = IoStats::default();
        let pool = Pool::new(config);
        pool.report(&mut stats);
        Ok(Self {
            config: config.clone(),
            selector,
            table: Table::new(),
            sockets: 0,
            pool,
            events: VecDeque::new(),
            changed: Vec::new(),
            starved: VecDeque::new(),
            backed_off: Vec::new(),
            lingers: VecDeque::new(),
            door,
            idle: Idle::new(config.idle),
            now: Instant::now(),
            turn: 0,
            stats,
        })
    }

    fn push(&mut self, event: Event) {
        self.stats.events += 1;
        self.events.push_back(event);
    }

    fn check_room(&mut self) -> io::Result<()> {
        if self.sockets < self.config.sockets_max {
            return Ok(());
        }
        self.stats.sockets_refused += 1;
        Err(io::Error::new(
            io::ErrorKind::QuotaExceeded,
            format!("sockets_max of {} reached", self.config.sockets_max),
        ))
    }

    /// Gives a socket a slot and has it watched.
    fn register(&mut self, socket: Socket) -> io::Result<SocketId> {
        let (index, generation) = self.table.insert(Entry::Socket(socket));
        let id = SocketId::new(index, generation);
        self.sockets += 1;
        if let Err(error) = self.watch(id) {
            self.sockets -= 1;
            self.table.remove(index, generation);
            return Err(error);
        }
        Ok(id)
    }

    /// Tells the kernel what to watch of a socket, where that has changed.
    fn watch(&mut self, id: SocketId) -> io::Result<()> {
        let Some(socket) = self.table.socket(id) else {
            return Ok(());
        };
        socket.changed = false;
        let wanted = socket.wanted(self.pool.is_exhausted());
        if wanted == socket.watched {
            return Ok(());
        }
        self.stats.syscalls += 1;
        let token = slot::token(id.index(), id.generation());
        match (socket.watched, wanted) {
            (None, Some(flags)) => self.selector.add(&socket.fd, token, flags)?,
            (Some(_), Some(flags)) => self.selector.modify(&socket.fd, token, flags)?,
            (_, None) => self.selector.remove(&socket.fd),
        }
        socket.watched = wanted;
        Ok(())
    }

    /// Ends a socket's use of the kernel; its slot stays taken until its last event is read.
    fn retire(&mut self, id: SocketId) -> Option<Socket> {
        let socket = self.table.retire(id)?;
        self.sockets -= 1;
        if socket.watched.is_some() {
            self.stats.syscalls += 1;
            self.selector.remove(&socket.fd);
        }
        Some(socket)
    }
}

impl Reactor for Epoll {
    fn now(&self) -> Instant {
        self.now
    }

    fn io(&self) -> IoKind {
        IoKind::Epoll
    }

    fn listen(
        &mut self,
        address: &Address,
        options: &ListenOptions,
    ) -> io::Result<(ListenerId, Address)> {
        let (fd, actual) = socket::listener(address, options)?;
        let (index, generation) = self.table.insert(Entry::Listener(fd));
        let id = ListenerId::new(index, generation);
        if let Err(error) = self.watch_listener(id) {
            self.table.remove(index, generation);
            return Err(error);
        }
        Ok((id, actual))
    }

    fn unlisten(&mut self, listener: ListenerId) {
        self.accept_all_and_close(listener);
    }

    fn adopt(&mut self, fd: OwnedFd, options: &SocketOptions) -> io::Result<SocketId> {
        self.check_room()?;
        socket::adopt(&fd, options)?;
        self.register(Socket::new(fd, Phase::Open))
    }

    fn connect(&mut self, address: &Address, options: &SocketOptions) -> io::Result<SocketId> {
        self.check_room()?;
        let fd = socket::dialer(address, options)?;
        let target = socket::to_sockaddr(address)?;
        self.stats.connects += 1;
        self.stats.syscalls += 1;
        match SockRef::from(&fd).connect(&target) {
            Ok(()) => {
                let id = self.register(Socket::new(fd, Phase::Open))?;
                self.push(Event::Connected { socket: id });
                Ok(id)
            }
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
                self.register(Socket::new(fd, Phase::Connecting))
            }
            Err(error) => {
                let (index, generation) = self.table.insert(Entry::Gone);
                let id = SocketId::new(index, generation);
                self.stats.connects_failed += 1;
                self.push(Event::ConnectFailed { socket: id, error });
                Ok(id)
            }
        }
    }

    fn send(&mut self, socket: SocketId, buf: Vec<u8>) {
        let Some(slot) = self.table.socket(socket) else {
            return;
        };
        if slot.phase == Phase::Lingering {
            return;
        }
        assert!(!slot.sending, "a send of {socket:?} is in flight already");
        slot.sending = true;
        slot.outgoing = Some(Outgoing { buf, taken: 0 });
        self.stats.sends += 1;
        self.transmit(socket);
    }

    fn close(&mut self, socket: SocketId) {
        self.start_close(socket);
    }

    fn poll_fd(&mut self, fd: OwnedFd) -> io::Result<PollId> {
        let (index, generation) = self.table.insert(Entry::Poll(fd));
        let id = PollId::new(index, generation);
        let Some(fd) = self.table.poll(id) else {
            unreachable!("it was just put there")
        };
        self.stats.syscalls += 1;
        if let Err(error) = self
            .selector
            .add(fd, slot::token(index, generation), EventFlags::IN)
        {
            self.table.remove(index, generation);
            return Err(error);
        }
        Ok(id)
    }

    fn unpoll(&mut self, poll: PollId) {
        if let Some(fd) = self.table.poll(poll) {
            self.stats.syscalls += 2;
            self.selector.remove(fd);
            self.table.remove(poll.index(), poll.generation());
        }
    }

    fn bytes<'a>(&'a self, buf: &'a RecvBuf) -> &'a [u8] {
        self.pool.filled(buf)
    }

    fn recycle(&mut self, buf: RecvBuf) {
        self.take_back(&buf);
    }

    fn waker(&self) -> Waker {
        Waker::eventfd(Arc::clone(&self.door))
    }

    fn turn(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.take_turn(until)
    }

    fn next_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        match &event {
            Event::Sent { socket, .. } => {
                if let Some(socket) = self.table.socket(*socket) {
                    socket.sending = false;
                }
            }
            Event::Closed { socket, .. } | Event::ConnectFailed { socket, .. } => {
                self.table.remove(socket.index(), socket.generation());
            }
            _ => {}
        }
        Some(event)
    }

    fn stats(&self) -> &IoStats {
        &self.stats
    }

    fn in_flight(&self) -> usize {
        self.table.len()
    }
}

#[cfg(test)]
mod tests;
