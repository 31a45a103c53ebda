//! Workloads of more than a client and a server.

use std::time::Duration;

use ringmain_bench_harness::{Load, Plan, PlanKind};
use serde_json::json;

use super::spec::{Rows, plan};
use crate::args::{Home, Idle};
use crate::pick::{PickArgs, Policy};

const LOCAL: [(Home, Idle); 1] = [(Home::Local, Idle::Park)];
/// Client lanes and instances.
const FLEETS: [(usize, usize); 3] = [(1, 1), (2, 16), (8, 256)];
const QUICK_FLEETS: [(usize, usize); 3] = [(1, 1), (2, 4), (2, 16)];
/// Bytes of a large message.
const LARGE: [u32; 3] = [16 * 1024, 1024 * 1024, 64 * 1024 * 1024];

/// Streams through a router beside the same streams directly.
pub(super) fn relay(rows: &mut Rows<'_>) {
    let base = Plan {
        items: 256,
        ..plan(Load::Closed, PlanKind::Yield)
    };
    for through in [false, true] {
        for mut spec in rows.our_specs(&base, &LOCAL) {
            let path = if through { "router" } else { "direct" };
            spec.params.insert("path".to_owned(), json!(path));
            spec.relay = through;
            rows.push(spec);
        }
    }
}

/// As many streams in all, whatever the size of the fleet.
pub(super) fn fleet(rows: &mut Rows<'_>) {
    let base = Plan {
        streams: 1024,
        interval_us: 10_000,
        ..plan(Load::Paced, PlanKind::Step)
    };
    for (lanes, instances) in rows.settings.quick_or(QUICK_FLEETS, FLEETS) {
        for mut spec in rows.our_specs(&base, &LOCAL) {
            spec.instances = instances;
            spec.plan.connect.lanes = lanes;
            spec.params.insert("lanes".to_owned(), json!(lanes));
            spec.params.insert("instances".to_owned(), json!(instances));
            rows.push(spec);
        }
    }
}

/// One caller of large messages both ways beside small items.
pub(super) fn large(rows: &mut Rows<'_>) {
    for bytes in LARGE {
        let base = Plan {
            item_bytes: bytes,
            request_bytes: bytes as usize,
            interval_us: 10_000,
            ..plan(Load::Large, PlanKind::Ready)
        };
        rows.ours(&base, &LOCAL);
        rows.peers(&base);
    }
}

pub(super) fn pick(rows: &mut Rows<'_>) {
    let settings = rows.settings;
    let window = settings.window.min(Duration::from_secs(1));
    for policy in Policy::ALL {
        // The plan is there for what all rows share; nothing of it is run.
        for mut spec in rows.our_specs(&plan(Load::Closed, PlanKind::Ready), &LOCAL) {
            let args = PickArgs {
                policy,
                instances: 256,
                changes_per_s: 1000,
                window,
                cpus: (
                    settings.systems.client_cpus.clone(),
                    settings.systems.server_cpus.clone(),
                ),
            };
            spec.params.clear();
            for (name, value) in [
                ("policy", json!(policy.name())),
                ("instances", json!(args.instances)),
                ("changes_per_s", json!(args.changes_per_s)),
            ] {
                spec.params.insert(name.to_owned(), value);
            }
            spec.pick = Some(args);
            spec.traced = false;
            rows.push(spec);
        }
    }
}
