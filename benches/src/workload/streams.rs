//! Workloads made of streams of items.

use ringmain_bench_harness::{Load, Plan, PlanKind};

use super::spec::{Rows, plan};
use crate::args::{Home, Idle};

const LOCAL: [(Home, Idle); 1] = [(Home::Local, Idle::Park)];
const BOTH: [(Home, Idle); 2] = [(Home::Local, Idle::Park), (Home::Inline, Idle::Park)];
/// The step of a decode loop.
const STEP_US: u64 = 10_000;

/// Items all ready at once; one per turn of the scheduler; pushed by an engine, a step at a time.
pub(super) fn full_speed(rows: &mut Rows<'_>) {
    for kind in [PlanKind::Ready, PlanKind::Yield, PlanKind::Step] {
        let base = Plan {
            items: 256,
            ..plan(Load::Closed, kind)
        };
        let homes = rows.settings.quick_or(&LOCAL[..], &BOTH[..]);
        rows.ours(&base, homes);
        // To a system without an engine's hand-over a step is one item per turn, so that the
        // rows of `yield` are what a row of `step` is compared with.
        if kind != PlanKind::Step {
            rows.peers(&base);
        }
    }
}

pub(super) fn paced(rows: &mut Rows<'_>) {
    let many = rows.settings.quick_or((1000, 50_000), (10_000, 50_000));
    let dense = rows.settings.quick_or((256, 10_000), (1024, 10_000));
    for (streams, interval_us) in [many, dense] {
        let base = Plan {
            streams,
            interval_us,
            ..plan(Load::Paced, PlanKind::Paced)
        };
        rows.floors(&base, &["bare_mux"]);
        rows.ours(&base, &LOCAL);
        rows.peers(&base);
    }
}

pub(super) fn step(rows: &mut Rows<'_>) {
    for kind in [PlanKind::Step, PlanKind::Grid] {
        let base = Plan {
            streams: 1024,
            interval_us: STEP_US,
            ..plan(Load::Paced, kind)
        };
        let homes = match kind {
            PlanKind::Step => rows.settings.quick_or(&LOCAL[..], &BOTH[..]),
            _ => &LOCAL[..],
        };
        if kind == PlanKind::Grid {
            rows.floors(&base, &["bare_mux"]);
        }
        rows.ours(&base, homes);
        if kind == PlanKind::Grid {
            rows.peers(&base);
        }
    }
}

pub(super) fn burst(rows: &mut Rows<'_>) {
    let base = Plan {
        streams: 1024,
        ..plan(Load::Burst, PlanKind::Ready)
    };
    rows.ours(&base, &BOTH);
    rows.peers(&base);
}

/// One long request for each hundred callers, and as many consumers that never read.
pub(super) fn mixed(rows: &mut Rows<'_>) {
    let base = Plan {
        streams: 256,
        items: 32,
        wedged: 3,
        ..plan(Load::Mixed, PlanKind::Yield)
    };
    rows.ours(&base, &LOCAL);
    rows.peers(&base);
}
