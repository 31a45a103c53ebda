//! One turn: catch up, submit, wait, reap.

use std::io;
use std::time::Instant;

use super::Uring;
use super::ring::{Completion, Entered};
use super::sys::Wait;
use super::token::{Op, Token};
use crate::event::{ListenerId, PollId, SocketId};

/// Most enters of one turn, so that a kernel that stays busy cannot hold the thread.
const ENTERS_MAX: u32 = 16;

impl Uring {
    pub(super) fn take_turn(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.stats.turns += 1;
        self.catch_up();
        let wait = self.wait_of(until);
        let hidden = self.ring.has_hidden(&mut self.stats);
        let mut entered = Entered::Done;
        if wait != Wait::No || hidden || self.ring.has_submissions() {
            entered = self.ring.enter(wait, &mut self.stats)?;
        }
        self.now = Instant::now();
        let before = self.events.len();
        self.reap(entered)?;
        if self.events.len() > before {
            self.spinner.on_events(self.now);
        }
        Ok(())
    }

    /// Does what the last turn left for this one, after its events were handled.
    fn catch_up(&mut self) {
        self.check_quotas();
        self.end_backoffs();
        self.end_lingers();
        self.force_unfinished();
        self.rearm_polls();
        self.arm_wake();
        self.bufs.publish();
        self.feed_starved();
    }

    fn wait_of(&mut self, until: Option<Instant>) -> Wait {
        if !self.events.is_empty() || self.ring.has_completions() {
            return Wait::No;
        }
        let own = [
            self.backoffs.front().map(|b| b.0),
            self.lingers.front().map(|l| l.0),
        ];
        let Some(until) = own.into_iter().flatten().chain(until).min() else {
            return Wait::Forever;
        };
        // A time in the past costs no clock read.
        if until <= self.now {
            return Wait::No;
        }
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            Wait::No
        } else {
            self.wait_until(until, rest)
        }
    }

    /// Handles completions until there are none, or the turn has enough.
    fn reap(&mut self, entered: Entered) -> io::Result<()> {
        let max = self.config.events_per_turn_max.max(1) as usize;
        let mut entered = entered;
        let mut done = 0;
        let mut batch = std::mem::take(&mut self.batch);
        for _ in 0..ENTERS_MAX {
            self.ring.reap(&mut batch, max - done);
            done += batch.len();
            for completion in batch.drain(..) {
                self.on_completion(completion);
            }
            if done >= max {
                self.stats.turns_cut += u64::from(self.ring.has_completions());
                break;
            }
            let stuck = entered == Entered::Busy || self.ring.has_backlog();
            if !stuck && !self.ring.has_hidden(&mut self.stats) {
                break;
            }
            self.bufs.publish();
            entered = self.ring.enter(Wait::No, &mut self.stats)?;
        }
        self.batch = batch;
        Ok(())
    }

    pub(super) fn on_completion(&mut self, completion: Completion) {
        let Some(token) = Token::decode(completion.user_data) else {
            self.stats.stale += 1;
            return;
        };
        let socket = SocketId::new(token.index, token.generation);
        let listener = ListenerId::new(token.index, token.generation);
        let poll = PollId::new(token.index, token.generation);
        match token.op {
            Op::Wake => self.on_wake(),
            Op::Recv => self.on_recv(socket, completion),
            Op::Send => self.on_send(socket, completion),
            Op::Connect => self.on_connect(socket, completion),
            Op::Cancel => self.on_cancel(socket, completion.result),
            Op::Accept => self.on_accept(listener, completion),
            Op::AcceptCancel => self.on_accept_cancelled(listener),
            Op::Poll => self.on_poll(poll, completion),
            Op::PollCancel => self.on_poll_cancelled(poll),
            Op::CancelAll => {}
            Op::Alarm => self.alarm.rang(),
        }
    }

    pub(super) fn spin_before_park(
        &mut self,
        until: Option<Instant>,
        has_mail: &dyn Fn() -> bool,
    ) -> bool {
        if !self.events.is_empty() || has_mail() {
            return true;
        }
        let Some(limit) = self.spinner.spin_time() else {
            return false;
        };
        // Spinning must not keep entries from the kernel; a park submits them by itself.
        if self.ring.has_submissions() {
            return true;
        }
        let start = Instant::now();
        let due = until.map(|until| until.saturating_duration_since(start));
        loop {
            for _ in 0..8 {
                if self.ring.has_completions()
                    || self.ring.has_hidden(&mut self.stats)
                    || has_mail()
                {
                    self.stats.spins_hit += 1;
                    return true;
                }
                std::hint::spin_loop();
            }
            let spent = start.elapsed();
            if due.is_some_and(|due| spent >= due) {
                return true;
            }
            if spent >= limit {
                self.stats.spins_missed += 1;
                return !self.spinner.may_park();
            }
        }
    }
}
