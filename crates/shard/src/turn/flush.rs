//! One send per link that has something to say.

use std::time::Instant;

use ringmain_reactor::Reactor;
use ringmain_telemetry::Counter;

use super::Shard;
use crate::key::LinkKey;
use crate::link::FlushReason;
use crate::links::{LinkEntry, LinkState};

impl<R: Reactor> Shard<R> {
    pub(super) fn flush(&mut self) {
        let idle = self.exec.is_idle();
        let now = self.ctx.now();
        let mut dirty = std::mem::take(&mut self.dirty);
        self.ctx.take_dirty(&mut dirty);
        for key in dirty.drain(..) {
            self.flush_link(key, now, idle);
        }
        self.dirty = dirty;
    }

    pub(super) fn flush_link(&mut self, key: LinkKey, now: Instant, idle: bool) {
        let Some(entry) = self.entry(key) else { return };
        let mut borrowed = entry.borrow_mut();
        borrowed.dirty = false;
        let open = matches!(borrowed.state, LinkState::Open | LinkState::Lingering);
        let Some(socket) = borrowed.socket.filter(|_| open) else {
            return;
        };
        let due = borrowed.link.poll_timeout();
        if borrowed.state == LinkState::Open {
            self.rearm(key, &mut borrowed, due);
        }
        let idle = idle || borrowed.state == LinkState::Lingering;
        let this = &mut *borrowed;
        this.figures
            .publish(&self.ctx, this.link.connection().stats());
        if let Some((buf, reason)) = borrowed.link.poll_send(now, idle) {
            self.ctx.count(Counter::Sends, 1);
            self.ctx.count(Counter::BytesSent, buf.len() as u64);
            self.ctx.count(flush_counter(reason), 1);
            self.reactor.send(socket, buf);
        } else if borrowed.link.has_output() && !borrowed.link.is_sending() {
            self.ctx.mark_dirty(key, &mut borrowed);
        }
        self.give_room(key, &mut borrowed);
        let flushed = !borrowed.link.has_output() && !borrowed.link.is_sending();
        if !flushed {
            return;
        }
        if borrowed.state == LinkState::Lingering {
            borrowed.state = LinkState::Closing;
            self.reactor.close(socket);
        } else if let Some(down) = borrowed.close_when_flushed.take() {
            drop(borrowed);
            self.take_down(key, down);
        }
    }

    /// Wakes producers that wait for room; those that are left are looked at in the next turn.
    fn give_room(&self, key: LinkKey, entry: &mut LinkEntry) {
        if entry.room.is_empty() {
            return;
        }
        if let Some(room) = entry.link.room() {
            entry.room.wake(room);
            if !entry.room.is_empty() {
                self.ctx.mark_dirty(key, entry);
            }
        }
    }
}

const fn flush_counter(reason: FlushReason) -> Counter {
    match reason {
        FlushReason::Urgent => Counter::FlushesUrgent,
        FlushReason::Size => Counter::FlushesSize,
        FlushReason::Age => Counter::FlushesTurns,
        FlushReason::Idle => Counter::FlushesIdle,
    }
}
