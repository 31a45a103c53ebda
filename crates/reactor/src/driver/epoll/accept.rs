//! Listeners.

use std::io;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags, acceptfrom_with};

use super::Epoll;
use super::slot::token;
use crate::address::Address;
use crate::event::{Event, ListenerId};

/// Most connections one listener takes in one turn.
const ACCEPTS_PER_TURN_MAX: usize = 64;

/// Most connections taken from the queue of a listener that is about to close.
const LAST_ACCEPTS_MAX: usize = 4096;

enum Accept {
    Next,
    /// The queue is empty, or the listener pauses.
    Stop,
}

impl Epoll {
    pub(super) fn watch_listener(&mut self, id: ListenerId) -> io::Result<()> {
        let Some(listener) = self.table.listener(id) else {
            return Ok(());
        };
        self.stats.syscalls += 1;
        self.selector
            .add(listener, token(id.index(), id.generation()), EventFlags::IN)
    }

    /// Takes connections off a listener's queue.
    pub(super) fn accept(&mut self, id: ListenerId) {
        for _ in 0..ACCEPTS_PER_TURN_MAX {
            if self.is_turn_full() {
                return;
            }
            if let Accept::Stop = self.accept_one(id) {
                return;
            }
        }
    }

    pub(super) fn accept_all_and_close(&mut self, id: ListenerId) {
        if self.table.listener(id).is_none() {
            return;
        }
        for _ in 0..LAST_ACCEPTS_MAX {
            if let Accept::Stop = self.accept_one(id) {
                break;
            }
        }
        self.backed_off.retain(|&(other, _)| other != id);
        if let Some(listener) = self.table.listener(id) {
            self.stats.syscalls += 2;
            self.selector.remove(listener);
        }
        self.table.remove(id.index(), id.generation());
    }

    /// Listeners whose pause is over are watched again.
    pub(super) fn resume_listeners(&mut self) {
        let now = self.now;
        while let Some(due) = self
            .backed_off
            .iter()
            .position(|&(_, resume_at)| resume_at <= now)
        {
            let (id, _) = self.backed_off.swap_remove(due);
            self.stats.rearmed += 1;
            self.stats.accepts_rearmed += 1;
            if let Err(error) = self.watch_listener(id) {
                self.fail_and_back_off(id, error);
            }
        }
    }

    fn accept_one(&mut self, id: ListenerId) -> Accept {
        let Some(listener) = self.table.listener(id) else {
            return Accept::Stop;
        };
        self.stats.syscalls += 1;
        match acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok((fd, peer)) => {
                self.stats.accepts += 1;
                let peer = peer.and_then(to_address);
                self.push(Event::Accepted {
                    listener: id,
                    fd,
                    peer,
                });
                Accept::Next
            }
            Err(Errno::AGAIN) => Accept::Stop,
            Err(Errno::INTR) => Accept::Next,
            Err(error) if is_of_the_connection(error) => {
                self.stats.accepts_failed += 1;
                Accept::Next
            }
            Err(error) => {
                self.fail_and_back_off(id, error.into());
                Accept::Stop
            }
        }
    }

    /// Out of descriptors or memory: the connection stays queued and would be reported again at
    /// once, so the listener is not watched for a while.
    fn fail_and_back_off(&mut self, id: ListenerId, error: io::Error) {
        let Some(listener) = self.table.listener(id) else {
            return;
        };
        self.stats.accepts_failed += 1;
        if !self.backed_off.iter().any(|&(other, _)| other == id) {
            self.stats.accepts_backed_off += 1;
            self.stats.syscalls += 1;
            self.selector.remove(listener);
            self.backed_off
                .push((id, self.now + self.config.accept_backoff));
        }
        self.push(Event::AcceptFailed {
            listener: id,
            error,
        });
    }
}

/// Errors of one connection that died in the queue; the next may be sound.
fn is_of_the_connection(error: Errno) -> bool {
    matches!(
        error,
        Errno::CONNABORTED
            | Errno::PROTO
            | Errno::PERM
            | Errno::NETDOWN
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::OPNOTSUPP
            | Errno::NETUNREACH
            | Errno::TIMEDOUT
    )
}

fn to_address(peer: SocketAddrAny) -> Option<Address> {
    std::net::SocketAddr::try_from(peer).ok().map(Address::Ip)
}
