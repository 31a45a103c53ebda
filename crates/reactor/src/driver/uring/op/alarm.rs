//! One timeout that stays in the ring while nothing earlier is due.
//!
//! A wait with a time limit of its own sets a timer of the kernel and takes it back, each time the
//! thread parks; on a virtual machine both are exits. Deadlines mostly move away as traffic goes
//! on, so a timeout for one of them is left where it is: it wakes the thread once, for nothing, and
//! is then set for what is due next.

use std::time::{Duration, Instant};

use io_uring::{opcode, types};

use super::super::Uring;
use super::super::sys::Wait;
use super::super::token::{Op, Token};

/// Waits shorter than this have a limit of their own, which is exact.
const REST_MIN: Duration = Duration::from_millis(5);

/// The timeout and the time it is set for.
#[derive(Default)]
pub(in super::super) struct Alarm {
    /// `None` while it is not in the ring.
    due: Option<Instant>,
    /// Read by the kernel when the entry is submitted.
    time: Box<types::Timespec>,
}

impl Alarm {
    pub(in super::super) const fn is_set(&self) -> bool {
        self.due.is_some()
    }

    pub(in super::super) const fn rang(&mut self) {
        self.due = None;
    }
}

impl Uring {
    /// How to wait until `due`, which is `rest` away.
    pub(in super::super) fn wait_until(&mut self, due: Instant, rest: Duration) -> Wait {
        if rest < REST_MIN || self.alarm.due.is_some_and(|set| set > due) {
            self.stats.wait_timers += 1;
            return Wait::AtMost(rest);
        }
        if !self.alarm.is_set() {
            self.set_alarm(due, rest);
        }
        Wait::Forever
    }

    fn set_alarm(&mut self, due: Instant, rest: Duration) {
        self.alarm.due = Some(due);
        self.stats.wait_timers += 1;
        *self.alarm.time = types::Timespec::from(rest);
        let entry = opcode::Timeout::new(&raw const *self.alarm.time)
            .build()
            .user_data(Token::new(Op::Alarm, 0, 0).encode());
        // SAFETY: the time is in a box of its own that lives as long as the driver, and is not
        // written again before the completion.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }
}
