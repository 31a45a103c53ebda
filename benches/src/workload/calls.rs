//! Workloads made of single calls.

use ringmain_bench_harness::{Load, Plan, PlanKind};

use super::spec::{Rows, plan};
use crate::args::{Home, Idle};

/// Ping-pongs: on TCP, on Unix sockets, in shared memory; polling and sleeping.
const PING_PONGS: [&str; 5] = ["tcp_spin", "tcp_block", "uds_spin", "uds_block", "shm_spin"];
/// Calls a second that every peer can serve on one core.
const RATE: u64 = 10_000;

fn unary(load: Load, streams: usize) -> Plan {
    Plan {
        streams,
        item_bytes: 64,
        ..plan(load, PlanKind::Ready)
    }
}

pub(super) fn floor(rows: &mut Rows<'_>) {
    rows.floors(&unary(Load::Closed, 1), &PING_PONGS);
}

pub(super) fn rtt(rows: &mut Rows<'_>) {
    let one = unary(Load::Closed, 1);
    rows.floors(&one, &PING_PONGS);
    let homes = [
        (Home::Local, Idle::Spin),
        (Home::Local, Idle::Park),
        (Home::Inline, Idle::Park),
        (Home::Shards, Idle::Park),
    ];
    rows.ours(&one, &homes);
    rows.peers(&one);
}

pub(super) fn rps(rows: &mut Rows<'_>) {
    let homes = [(Home::Local, Idle::Park), (Home::Inline, Idle::Park)];
    let closed = unary(Load::Closed, 64);
    let mut open = unary(Load::Open, 1);
    open.rate = RATE;
    for (base, homes) in [(closed, &homes[..]), (open, &homes[..1])] {
        rows.ours(&base, homes);
        rows.peers(&base);
    }
}

pub(super) fn churn(rows: &mut Rows<'_>) {
    let base = unary(Load::Churn, 16);
    rows.ours(&base, &[(Home::Local, Idle::Park)]);
    rows.peers(&base);
}

pub(super) fn cancel(rows: &mut Rows<'_>) {
    let mut base = plan(Load::Cancel, PlanKind::Paced);
    base.streams = rows.settings.quick_or(40, 200);
    base.interval_us = 10_000;
    rows.ours(&base, &[(Home::Local, Idle::Park)]);
    rows.peers(&base);
}
