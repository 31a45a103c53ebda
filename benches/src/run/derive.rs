//! Figures that follow from others.

use std::collections::BTreeMap;

use ringmain_bench_harness::{Load, PlanKind};

use crate::stats::float;
use crate::workload::Spec;

/// The figures, and what a workload is read by: memory of a stream, system calls of a step.
pub(super) fn with_derived(
    spec: &Spec,
    mut figures: BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let streams = float(spec.plan.streams.max(1));
    let mut derive = |from: &str, to: &str, factor: f64| {
        if let Some(value) = figures.get(from).copied() {
            figures.insert(to.to_owned(), value * factor);
        }
    };
    if spec.plan.load == Load::Paced {
        derive("server_rss_kib", "server_rss_kib_per_stream", 1.0 / streams);
    }
    let in_step = matches!(spec.plan.kind, PlanKind::Step | PlanKind::Grid);
    if in_step && spec.plan.interval_us > 0 {
        // Every stream gets one item in each step.
        derive(
            "server_syscalls_per_token",
            "server_syscalls_per_step",
            streams,
        );
        derive(
            "client_syscalls_per_token",
            "client_syscalls_per_step",
            streams,
        );
    }
    figures
}
