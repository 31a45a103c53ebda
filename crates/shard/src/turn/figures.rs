//! What the driver, the mailbox and the links count, as the process's counters show it.

use ringmain_codec::Stats;
use ringmain_reactor::{IoStats, Reactor};
use ringmain_telemetry::{Counter, Gauge};

use super::Shard;
use crate::ctx::ShardCtx;

/// A counter of the process, and where it is read.
type Source<S> = (Counter, fn(&S) -> u64);

/// The driver's counters that are the process's too.
const FROM_DRIVER: [Source<IoStats>; 6] = [
    (Counter::Enobufs, |stats| stats.enobufs),
    (Counter::SqFull, |stats| stats.sq_full),
    (Counter::CqOverflow, |stats| stats.cq_overflow),
    (Counter::ListenerRearmed, |stats| stats.accepts_rearmed),
    (Counter::SocketsRefused, |stats| stats.sockets_refused),
    (Counter::Wakes, |stats| stats.wakes),
];

/// A connection's counters that are the process's too.
const FROM_LINK: [Source<Stats>; 4] = [
    (Counter::CreditStalls, |stats| stats.no_credit),
    (Counter::Discards, |stats| stats.late_frames),
    (Counter::KeepaliveMisses, |stats| stats.keepalive_misses),
    (Counter::WindowGrowthRefused, |stats| {
        stats.window_growth_max_hits
    }),
];

/// What of the driver's and the mailbox's counters has been shown.
#[derive(Debug, Default)]
pub(super) struct Figures {
    driver: [u64; FROM_DRIVER.len()],
    mailbox_full: u64,
}

/// What of a connection's counters has been shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkFigures([u64; FROM_LINK.len()]);

impl LinkFigures {
    /// Shows what is new: as the link is flushed, and at its end.
    pub(crate) fn publish(&mut self, ctx: &ShardCtx, stats: &Stats) {
        for ((counter, read), shown) in FROM_LINK.iter().zip(&mut self.0) {
            show(ctx, *counter, read(stats), shown);
        }
    }
}

impl<R: Reactor> Shard<R> {
    /// Shows what is new; once a turn, a few loads.
    pub(super) fn publish(&mut self) {
        let stats = self.reactor.stats();
        for ((counter, read), shown) in FROM_DRIVER.iter().zip(&mut self.figures.driver) {
            show(&self.ctx, *counter, read(stats), shown);
        }
        let full = self.mailbox.full_total();
        let shown = &mut self.figures.mailbox_full;
        show(&self.ctx, Counter::MailboxFull, full, shown);
        self.ctx
            .telemetry_gauge(Gauge::ReceiveBuffersHeld, stats.buffers_held);
    }
}

fn show(ctx: &ShardCtx, counter: Counter, now: u64, shown: &mut u64) {
    if now != *shown {
        ctx.count(counter, now - *shown);
        *shown = now;
    }
}
