//! The jobs of each load.

use crate::clock::now_ns;
use crate::job::{Template, Timed, Work};
use crate::plan::{Load, Plan};
use crate::request::{Kind, REQUEST_BYTES, Request};

/// Time from launching the jobs to the first call of a paced load.
const LEAD_NS: u64 = 20_000_000;
/// Calls of an open loop start on a grid of this, as many as are due.
const ARRIVAL_GRID_NS: u64 = 1_000_000;
/// Streams of a paced load that open in one millisecond.
const OPENED_PER_MS: u64 = 20;
/// How much longer the long requests of a mixed load are.
const LONG: u32 = 100;
/// Items of a stream that nobody reads: more than any window holds.
const WEDGED_ITEMS: u32 = 10_000;

/// The call that a plan describes.
#[must_use]
pub(crate) fn template(plan: &Plan, timed: Timed) -> Template {
    Template {
        request: Request {
            kind: plan.kind.into(),
            item_bytes: plan.item_bytes,
            items: plan.items,
            interval_ns: plan.interval_us * 1000,
            phase_ns: 0,
            id: 0,
        },
        request_bytes: plan.request_bytes,
        timed,
    }
}

/// What to launch for a load that runs by itself.
#[must_use]
pub(crate) fn jobs(plan: &Plan) -> Vec<Work> {
    match plan.load {
        Load::Open => vec![open(plan)],
        Load::Paced => vec![paced(plan)],
        Load::Trace => vec![trace(plan)],
        Load::Churn => repeat(plan, || Work::Churn(template(plan, Timed::Call))),
        Load::Mixed => mixed(plan),
        Load::Large => large(plan),
        Load::Closed | Load::Burst | Load::Cancel => {
            repeat(plan, || Work::Loop(template(plan, Timed::Call)))
        }
    }
}

fn repeat(plan: &Plan, work: impl Fn() -> Work) -> Vec<Work> {
    (0..plan.streams).map(|_| work()).collect()
}

fn open(plan: &Plan) -> Work {
    let call = template(plan, Timed::Call);
    let span_ns = (plan.warm_up_ms + plan.window_ms + 50) * 1_000_000;
    let count = plan.rate * span_ns / 1_000_000_000;
    let at = |index: u64| {
        let exact = index * 1_000_000_000 / plan.rate.max(1);
        exact / ARRIVAL_GRID_NS * ARRIVAL_GRID_NS
    };
    Work::Pacer {
        start_ns: now_ns() + LEAD_NS,
        calls: (0..count).map(|index| (at(index), call.clone())).collect(),
    }
}

/// Long streams that open a few at a time and outlive the window.
fn paced(plan: &Plan) -> Work {
    let calls = paced_requests(plan).map(|(after_ns, request)| {
        let call = Template {
            request,
            ..template(plan, Timed::Item)
        };
        (after_ns, call)
    });
    Work::Pacer {
        start_ns: now_ns() + LEAD_NS,
        calls: calls.collect(),
    }
}

/// The streams of a paced load: when each opens, in nanoseconds after the load's start, and what
/// it asks for.
pub fn paced_requests(plan: &Plan) -> impl Iterator<Item = (u64, Request)> {
    let streams = plan.streams as u64;
    let ramp_ms = streams / OPENED_PER_MS + 1;
    let mut request = template(plan, Timed::Item).request;
    let interval_us = plan.interval_us.max(1);
    let span_us = (ramp_ms + plan.warm_up_ms + plan.window_ms + 100) * 1000;
    request.items = u32::try_from(span_us / interval_us + 1).unwrap_or(u32::MAX);
    (0..streams).map(move |index| {
        let request = Request {
            id: index,
            // Spread over the interval, so that the streams are not in step.
            phase_ns: index * 7919 % (interval_us * 1000),
            ..request
        };
        (index / OPENED_PER_MS * 1_000_000, request)
    })
}

fn trace(plan: &Plan) -> Work {
    let calls = plan.trace.iter().map(|&(at_us, bytes, items)| {
        let mut call = template(plan, Timed::Item);
        call.request.items = items.max(1);
        call.request.phase_ns = plan.interval_us * 1000;
        call.request_bytes = bytes.max(REQUEST_BYTES);
        (at_us * 1000, call)
    });
    Work::Pacer {
        start_ns: now_ns() + LEAD_NS,
        calls: calls.collect(),
    }
}

/// Callers that are measured; one long request per hundred of them; consumers that never read.
fn mixed(plan: &Plan) -> Vec<Work> {
    let mut jobs = repeat(plan, || Work::Loop(template(plan, Timed::Call)));
    let mut long = template(plan, Timed::Nothing);
    long.request.items *= LONG;
    for _ in 0..plan.streams.div_ceil(100) {
        jobs.push(Work::Loop(long.clone()));
    }
    let mut wedged = template(plan, Timed::Nothing);
    wedged.request.kind = Kind::Ready;
    wedged.request.items = WEDGED_ITEMS;
    for _ in 0..plan.wedged {
        jobs.push(Work::Wedged(wedged.clone()));
    }
    jobs
}

/// One caller of large messages both ways, beside paced streams of small tokens.
fn large(plan: &Plan) -> Vec<Work> {
    let mut small = plan.clone();
    small.item_bytes = 128;
    small.request_bytes = REQUEST_BYTES;
    small.kind = crate::plan::PlanKind::Paced;
    let mut bulk = template(plan, Timed::Nothing);
    bulk.request.kind = Kind::Ready;
    vec![paced(&small), Work::Loop(bulk)]
}
