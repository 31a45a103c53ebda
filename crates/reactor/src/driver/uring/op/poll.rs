//! Poll of a foreign descriptor.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, types};

use super::super::Uring;
use super::super::ring::Completion;
use super::super::slot::{Poll, poll_token};
use super::super::token::Op;
use crate::event::{Event, PollId};

impl Uring {
    pub(in super::super) fn start_poll(&mut self, fd: OwnedFd) -> io::Result<PollId> {
        let poll = Poll {
            fd,
            ops: 0,
            closing: false,
        };
        let (index, generation) = self
            .polls
            .insert(poll)
            .map_err(|_| io::Error::other("too many polled descriptors"))?;
        let id = PollId::new(index, generation);
        self.arm_poll(id);
        Ok(id)
    }

    /// One shot, so that a descriptor left unread is reported again and one being read is not.
    fn arm_poll(&mut self, id: PollId) {
        let Some(poll) = self.polls.at(id.index(), id.generation()) else {
            return;
        };
        if poll.closing || poll.ops > 0 {
            return;
        }
        let entry = opcode::PollAdd::new(types::Fd(poll.fd.as_raw_fd()), libc::POLLIN as u32)
            .build()
            .user_data(poll_token(Op::Poll, id));
        poll.ops += 1;
        self.ops += 1;
        // SAFETY: the entry refers to the descriptor only, which the slot keeps open.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    /// Polls again what was reported by the last turn and has been read since.
    pub(in super::super) fn rearm_polls(&mut self) {
        while let Some(id) = self.poll_rearms.pop() {
            self.arm_poll(id);
        }
    }

    pub(in super::super) fn stop_poll(&mut self, id: PollId) {
        let Some(poll) = self.polls.at(id.index(), id.generation()) else {
            return;
        };
        if std::mem::replace(&mut poll.closing, true) {
            return;
        }
        if poll.ops == 0 {
            self.release_poll(id);
            return;
        }
        let target = types::CancelBuilder::user_data(poll_token(Op::Poll, id));
        let entry = opcode::AsyncCancel2::new(target)
            .build()
            .user_data(poll_token(Op::PollCancel, id));
        poll.ops += 1;
        self.ops += 1;
        // SAFETY: a cancel refers to no memory.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    pub(in super::super) fn on_poll(&mut self, id: PollId, completion: Completion) {
        self.ops = self.ops.saturating_sub(1);
        let Some(poll) = self.polls.at(id.index(), id.generation()) else {
            self.stats.stale += 1;
            return;
        };
        poll.ops = poll.ops.saturating_sub(1);
        if poll.closing {
            self.release_poll(id);
            return;
        }
        // A descriptor that cannot be polled is reported once: reading it gives the error.
        if completion.result >= 0 {
            self.poll_rearms.push(id);
        }
        self.events.push_back(Event::Readable { poll: id });
    }

    pub(in super::super) fn on_poll_cancelled(&mut self, id: PollId) {
        self.ops = self.ops.saturating_sub(1);
        let Some(poll) = self.polls.at(id.index(), id.generation()) else {
            self.stats.stale += 1;
            return;
        };
        poll.ops = poll.ops.saturating_sub(1);
        self.release_poll(id);
    }

    fn release_poll(&mut self, id: PollId) {
        if self
            .polls
            .at(id.index(), id.generation())
            .is_some_and(|poll| poll.ops == 0)
        {
            drop(self.polls.remove(id.index(), id.generation()));
        }
    }
}
