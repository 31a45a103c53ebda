//! One turn: settle interest, wait, serve what is ready.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;

use super::Epoll;
use super::slot::{Entry, Phase, WAKE_TOKEN, parts};
use crate::event::{Event, ListenerId, PollId, SocketId};

impl Epoll {
    pub(super) fn take_turn(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.turn += 1;
        self.stats.turns += 1;
        self.settle_changes();
        let found = self.await_ready(until)?;
        self.now = Instant::now();
        self.serve_starved();
        self.serve_ready(found);
        if !self.events.is_empty() {
            self.idle.note_event(self.now);
        }
        self.resume_listeners();
        self.end_lingers();
        Ok(())
    }

    fn settle_changes(&mut self) {
        while let Some(id) = self.changed.pop() {
            if let Err(error) = self.watch(id) {
                self.give_up(id, error);
            }
        }
    }

    /// The kernel refused to watch a socket: it can neither receive nor finish a send.
    fn give_up(&mut self, id: SocketId, error: io::Error) {
        let Some(socket) = self.table.socket(id) else {
            return;
        };
        let outgoing = socket.outgoing.take();
        let was_receiving = std::mem::take(&mut socket.receiving);
        if let Some(outgoing) = outgoing {
            let result = Err(io::Error::from(error.kind()));
            self.push(Event::Sent {
                socket: id,
                buf: outgoing.buf,
                result,
            });
        }
        if was_receiving {
            self.push(Event::Failed { socket: id, error });
        }
    }

    fn await_ready(&mut self, until: Option<Instant>) -> io::Result<usize> {
        let resume = self.backed_off.iter().map(|&(_, resume_at)| resume_at);
        let linger = self.lingers.front().map(|&(due, _)| due);
        let deadline = resume.chain(until).chain(linger).min();
        let has_work = !self.events.is_empty()
            || (!self.starved.is_empty() && !self.pool.is_exhausted())
            || deadline.is_some_and(|deadline| deadline <= self.now);
        if has_work {
            return self.poll(Some(Duration::ZERO));
        }
        let start = Instant::now();
        let mut now = start;
        if let Some(budget) = self.idle.spin_budget() {
            while now.duration_since(start) < budget {
                let found = self.poll(Some(Duration::ZERO))?;
                if found > 0 {
                    self.stats.spins_hit += 1;
                    return Ok(found);
                }
                now = Instant::now();
                if deadline.is_some_and(|deadline| deadline <= now) {
                    return Ok(0);
                }
            }
            self.stats.spins_missed += 1;
            if !self.idle.may_park() {
                return Ok(0);
            }
        }
        let timeout = deadline.map(|deadline| deadline.saturating_duration_since(now));
        if timeout.is_none_or(|timeout| !timeout.is_zero()) {
            self.stats.parks += 1;
        }
        self.poll(timeout)
    }

    fn poll(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.stats.syscalls += 1;
        self.selector.wait(timeout)
    }

    /// Sockets that found no buffer go first, in the order in which they began to wait: else the
    /// kernel's fixed order of reporting would let the first few have all of them for ever.
    fn serve_starved(&mut self) {
        for _ in 0..self.starved.len() {
            if self.pool.is_exhausted() || self.is_turn_full() {
                return;
            }
            let Some(id) = self.starved.pop_front() else {
                return;
            };
            let Some(socket) = self.table.socket(id) else {
                continue;
            };
            socket.starved = false;
            self.note_change(id);
            self.receive(id);
        }
    }

    fn serve_ready(&mut self, found: usize) {
        let mut cut = false;
        for index in 0..found {
            let (token, flags) = self.selector.ready(index);
            if token == WAKE_TOKEN {
                self.stats.wakes += 1;
                continue;
            }
            let (index, generation) = parts(token);
            let full = self.is_turn_full();
            cut |= full;
            match self.table.at(index, generation) {
                Some(Entry::Socket(_)) => {
                    let id = SocketId::new(index, generation);
                    if full {
                        self.starve(id)
                    } else {
                        self.serve_socket(id, flags)
                    }
                }
                Some(Entry::Listener(_)) if !full => {
                    self.accept(ListenerId::new(index, generation));
                }
                Some(Entry::Poll(_)) if !full => {
                    self.push(Event::Readable {
                        poll: PollId::new(index, generation),
                    });
                }
                Some(Entry::Listener(_) | Entry::Poll(_)) => {}
                Some(Entry::Gone) | None => self.stats.stale += 1,
            }
        }
        self.stats.turns_cut += u64::from(cut);
    }

    fn serve_socket(&mut self, id: SocketId, flags: EventFlags) {
        let Some(socket) = self.table.socket(id) else {
            return;
        };
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        if socket.phase == Phase::Connecting {
            self.finish_connect(id);
            return;
        }
        if socket.outgoing.is_some() && (broken || flags.contains(EventFlags::OUT)) {
            self.transmit(id);
        }
        if broken || flags.contains(EventFlags::IN) {
            self.receive(id);
        }
    }

    pub(super) fn is_turn_full(&self) -> bool {
        self.events.len() >= self.config.events_per_turn_max as usize
    }

    /// Has the next turn look at a socket's interest again.
    pub(super) fn note_change(&mut self, id: SocketId) {
        let Some(socket) = self.table.socket(id) else {
            return;
        };
        if !std::mem::replace(&mut socket.changed, true) {
            self.changed.push(id);
        }
    }
}
