//! Descriptors that stand for accepted connections of a simulation.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::fstat;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::time::Timespec;

/// The reading ends of pipes are given out; ours tell when one was dropped instead of adopted.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    by_inode: BTreeMap<u64, Token>,
}

#[derive(Debug)]
struct Token {
    wire: u64,
    writer: OwnedFd,
    /// Inode numbers depend on the machine; what is done with tokens goes by this instead.
    order: u64,
}

impl Tokens {
    /// A descriptor for the acceptor's end of a connection.
    pub(super) fn issue(&mut self, wire: u64, order: u64) -> io::Result<OwnedFd> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let inode = fstat(&reader)?.st_ino;
        self.by_inode.insert(
            inode,
            Token {
                wire,
                writer,
                order,
            },
        );
        Ok(reader)
    }

    /// The connection that a descriptor stands for.
    pub(super) fn redeem(&mut self, fd: &OwnedFd) -> io::Result<u64> {
        let inode = fstat(fd)?.st_ino;
        self.by_inode
            .remove(&inode)
            .map(|token| token.wire)
            .ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "no descriptor of this simulation",
                )
            })
    }

    /// Connections whose descriptors were dropped, oldest first.
    pub(super) fn take_dropped(&mut self) -> Vec<u64> {
        let mut dropped: Vec<_> = self
            .by_inode
            .extract_if(.., |_, token| is_ready(&token.writer, PollFlags::empty()))
            .map(|(_, token)| (token.order, token.wire))
            .collect();
        dropped.sort_unstable();
        dropped.into_iter().map(|(_, wire)| wire).collect()
    }
}

/// Whether a descriptor has one of these states now, or is broken.
pub(super) fn is_ready(fd: &OwnedFd, flags: PollFlags) -> bool {
    let mut fds = [PollFd::new(fd, flags)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&at_once)).is_ok_and(|count| count > 0)
}
