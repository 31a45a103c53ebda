//! Timers of links, streams and sleeping tasks.

use std::time::Instant;

use ringmain_reactor::Reactor;

use super::Shard;
use crate::ctx::TimerTarget;
use crate::key::LinkKey;
use crate::links::{LinkEntry, LinkState};
use crate::roles::LinkDown;

impl<R: Reactor> Shard<R> {
    pub(super) fn expire_timers(&mut self) {
        let now = self.ctx.now();
        loop {
            let due = self.ctx.timers().borrow_mut().poll_expired(now);
            let Some(target) = due else { return };
            match target {
                TimerTarget::Sleeper(index) => {
                    let waker = self.ctx.sleepers().borrow_mut().take(index);
                    if let Some(waker) = waker {
                        waker.wake();
                    }
                }
                TimerTarget::Stream(key, stream) => {
                    let ctx = self.ctx.clone();
                    ctx.clone().with_link(key, |link, role| {
                        role.on_stream_timer(&ctx, key, link, stream);
                    });
                }
                TimerTarget::Link(key) => self.link_timer(key, now),
            }
        }
    }

    pub(super) fn link_timer(&mut self, key: LinkKey, now: Instant) {
        let Some(entry) = self.entry(key) else { return };
        let mut borrowed = entry.borrow_mut();
        borrowed.timer = None;
        match borrowed.state {
            LinkState::Closing => {}
            LinkState::Lingering => {
                borrowed.state = LinkState::Closing;
                if let Some(socket) = borrowed.socket {
                    self.reactor.close(socket);
                }
            }
            LinkState::Connecting | LinkState::Open => {
                if let Err(error) = borrowed.link.handle_timeout(now) {
                    drop(borrowed);
                    self.take_down(key, LinkDown::Protocol(error));
                    return;
                }
                let due = borrowed.link.poll_timeout();
                self.rearm(key, &mut borrowed, due);
                if borrowed.link.has_output() {
                    self.ctx.mark_dirty(key, &mut borrowed);
                }
            }
        }
    }

    /// Sets the link's timer unless one is set that fires no later.
    pub(super) fn rearm(&self, key: LinkKey, entry: &mut LinkEntry, due: Option<Instant>) {
        let Some(due) = due else { return };
        if let Some((armed, timer)) = entry.timer {
            if armed <= due {
                return;
            }
            self.ctx.timers().borrow_mut().cancel(timer);
        }
        let timer = self
            .ctx
            .timers()
            .borrow_mut()
            .insert(due, TimerTarget::Link(key));
        entry.timer = Some((due, timer));
    }
}
