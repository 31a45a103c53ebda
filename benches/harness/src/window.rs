//! The window of a repetition: the meters of every process, read at both its edges.

use crate::board::Counts;
use crate::clock::now_ns;
use crate::plan::{Load, Plan};
use crate::process::{self, Meter};
use crate::report::{Rep, float};
use crate::tracer::Tracer;

/// An open window.
pub struct Window<'a> {
    plan: &'a Plan,
    tracers: Option<(Tracer, Tracer)>,
    first: Edge,
}

/// Meters of every process at one edge of the window.
struct Edge {
    at_ns: u64,
    counts: Counts,
    server: Meter,
    client: Meter,
    broker: Meter,
    server_allocations: Option<u64>,
    client_allocations: u64,
}

impl<'a> Window<'a> {
    /// Opens it. `counts` tells what has arrived by now; `server_allocations` is the server's
    /// counter, where it was asked for.
    #[must_use]
    pub fn open(
        plan: &'a Plan,
        counts: impl FnOnce() -> Counts,
        server_allocations: Option<u64>,
    ) -> Self {
        let start = |pid| Tracer::start(pid, plan.window_ms);
        // A load that ends when its rounds are over is not counted by time.
        let by_time = plan.traced && plan.load != Load::Cancel;
        let tracers = by_time.then(|| (start(plan.server_pid), start(std::process::id())));
        Self {
            plan,
            tracers,
            first: Edge::read(plan, counts, server_allocations),
        }
    }

    /// When it was opened.
    #[must_use]
    pub const fn opened_ns(&self) -> u64 {
        self.first.at_ns
    }

    /// Closes it; the figures that follow from meters and counts.
    #[must_use]
    pub fn close(self, counts: impl FnOnce() -> Counts, server_allocations: Option<u64>) -> Rep {
        let last = Edge::read(self.plan, counts, server_allocations);
        let first = &self.first;
        let mut rep = Rep::default();
        let seconds = float(last.at_ns - first.at_ns) / 1e9;
        let tokens = float(last.counts.items - first.counts.items);
        rep.set("seconds", seconds);
        rep.set("tokens", tokens);
        rep.set("tokens_per_s", tokens / seconds);
        let calls = float(last.counts.calls - first.counts.calls);
        rep.set("calls_per_s", calls / seconds);
        let bytes = float(last.counts.bytes - first.counts.bytes);
        rep.set("bytes_per_s", bytes / seconds);
        if tokens > 0.0 && !self.plan.traced {
            first.times(&last, self.plan, &mut rep);
        }
        if tokens > 0.0 && self.plan.traced {
            first.counted(&last, &mut rep);
        }
        if let Some((server, client)) = self.tracers {
            // The counts cover their own window, so rates are compared.
            let window = float(self.plan.window_ms) / 1000.0;
            let per_token = |calls: u64| float(calls) / window / (tokens / seconds);
            for (name, tracer) in [("server", server), ("client", client)] {
                if let Some(calls) = tracer.finish() {
                    rep.set(&format!("{name}_syscalls_per_token"), per_token(calls));
                }
            }
        }
        let server = self.plan.server_pid;
        rep.set("server_rss_kib", float(process::rss_kib(server)));
        let client = std::process::id();
        rep.set("client_rss_kib", float(process::rss_kib(client)));
        rep.set("connections", float(process::connections(server)));
        rep
    }
}

impl Edge {
    fn read(plan: &Plan, counts: impl FnOnce() -> Counts, server_allocations: Option<u64>) -> Self {
        Self {
            server_allocations,
            client_allocations: ringmain_bench_allocator::allocations(),
            server: Meter::read(plan.server_pid),
            client: Meter::read(std::process::id()),
            broker: plan.broker_pid.map(Meter::read).unwrap_or_default(),
            counts: counts(),
            at_ns: now_ns(),
        }
    }

    /// CPU time since this edge.
    fn times(&self, last: &Self, plan: &Plan, rep: &mut Rep) {
        let seconds = float(last.at_ns - self.at_ns) / 1e9;
        let tokens = float(last.counts.items - self.counts.items);
        let server = last.server.since(self.server);
        let client = last.client.since(self.client);
        rep.set("server_ns_per_token", float(server.cpu_ns) / tokens);
        rep.set("client_ns_per_token", float(client.cpu_ns) / tokens);
        if plan.broker_pid.is_some() {
            let broker = last.broker.since(self.broker);
            rep.set("broker_ns_per_token", float(broker.cpu_ns) / tokens);
        }
        rep.set("server_cpu", float(server.cpu_ns) / 1e9 / seconds);
        rep.set("client_cpu", float(client.cpu_ns) / 1e9 / seconds);
    }

    /// What was counted since this edge.
    fn counted(&self, last: &Self, rep: &mut Rep) {
        let tokens = float(last.counts.items - self.counts.items);
        let server = last.server.since(self.server);
        let client = last.client.since(self.client);
        rep.set("server_switches_per_token", float(server.switches) / tokens);
        rep.set("client_switches_per_token", float(client.switches) / tokens);
        if let (Some(before), Some(after)) = (self.server_allocations, last.server_allocations) {
            let server = float(after - before);
            rep.set("server_allocations_per_token", server / tokens);
        }
        let client = float(last.client_allocations - self.client_allocations);
        rep.set("client_allocations_per_token", client / tokens);
    }
}
