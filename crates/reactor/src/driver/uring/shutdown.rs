//! Dropping a driver without freeing memory that the kernel still uses.

use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use io_uring::{opcode, types};
use rustix::net::Shutdown;

use super::Uring;
use super::op::WakeSource;
use super::ring::Completion;
use super::sys::Wait;
use super::token::{Op, Token};

/// Longest single wait for completions after a cancel.
const ROUND: Duration = Duration::from_millis(10);

/// Rounds without a completion after which sockets are shut down as well.
const PATIENCE: u32 = 2;

static LEAKED: AtomicU64 = AtomicU64::new(0);

/// Operations that the kernel still held when their driver was dropped, in this process so far.
///
/// Their memory was leaked rather than freed. Anything but 0 means a kernel that did not answer
/// a cancel within [`shutdown_wait`](crate::DriverConfig::shutdown_wait), and is worth a warning.
#[must_use]
pub fn leaked_operations() -> u64 {
    LEAKED.load(Ordering::Relaxed)
}

impl Uring {
    fn operations(&self) -> usize {
        self.ops + self.wake_ops + usize::from(self.alarm.is_set())
    }

    /// Cancels everything and waits for the final completions.
    fn let_go(&mut self) {
        let due = Instant::now() + self.config.shutdown_wait;
        let mut silent = 0;
        let mut cancel = true;
        while self.operations() > 0 {
            if cancel {
                self.cancel_all();
            }
            if silent == PATIENCE {
                self.shut_sockets_down();
            }
            let rest = due.saturating_duration_since(Instant::now());
            if rest.is_zero()
                || self
                    .ring
                    .enter(Wait::AtMost(rest.min(ROUND)), &mut self.stats)
                    .is_err()
            {
                return;
            }
            let mut batch = std::mem::take(&mut self.batch);
            self.ring.reap(&mut batch, usize::MAX);
            cancel = batch.is_empty();
            silent += u32::from(cancel);
            for completion in batch.drain(..) {
                self.on_last_completion(completion);
            }
            self.batch = batch;
        }
    }

    fn cancel_all(&mut self) {
        let entry = opcode::AsyncCancel2::new(types::CancelBuilder::any())
            .build()
            .user_data(Token::new(Op::CancelAll, 0, 0).encode());
        // SAFETY: a cancel refers to no memory.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    fn shut_sockets_down(&self) {
        for socket in self.sockets.values() {
            // One that is not connected cannot be shut down and has nothing to wait for.
            rustix::net::shutdown(&socket.fd, Shutdown::Both).ok();
        }
    }

    fn on_last_completion(&mut self, completion: Completion) {
        let Some(token) = Token::decode(completion.user_data) else {
            return;
        };
        if token.op == Op::Accept && completion.result >= 0 {
            // SAFETY: the kernel just made this descriptor for this completion alone.
            drop(unsafe { OwnedFd::from_raw_fd(completion.result) });
            self.stats.accepts_discarded += 1;
        }
        if completion.more() {
            return;
        }
        match (token.op, &self.wake) {
            (Op::CancelAll, _) | (Op::Wake, WakeSource::Ring(_)) => {}
            (Op::Wake, WakeSource::Eventfd { .. }) => {
                self.wake_ops = self.wake_ops.saturating_sub(1)
            }
            (Op::Alarm, _) => self.alarm.rang(),
            _ => self.ops = self.ops.saturating_sub(1),
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if let WakeSource::Ring(door) = &self.wake {
            door.close();
        }
        self.let_go();
        let left = self.operations();
        if left == 0 {
            self.bufs.release(self.ring.io());
            return;
        }
        // The kernel may still write to the receive buffers, which leak unless released, and read
        // what the sockets hold.
        self.stats.leaked += left as u64;
        LEAKED.fetch_add(left as u64, Ordering::Relaxed);
        for socket in self.sockets.drain() {
            std::mem::forget((socket.send, socket.peer));
        }
    }
}
