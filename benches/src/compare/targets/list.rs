//! What the plane has to reach, on one machine in one run.

use super::{Against, Target};

const PARKED: &[(&str, &str)] = &[("home", "local"), ("idle", "park")];
const SPINNING: &[(&str, &str)] = &[("home", "local"), ("idle", "spin")];
const CLOSED: &[(&str, &str)] = &[("load", "closed")];
const CLOSED_LOCAL: &[(&str, &str)] = &[("load", "closed"), ("home", "local"), ("idle", "park")];
const READY: &[(&str, &str)] = &[("kind", "ready")];
const READY_LOCAL: &[(&str, &str)] = &[("kind", "ready"), ("home", "local")];
const YIELD: &[(&str, &str)] = &[("kind", "yield")];
const YIELD_LOCAL: &[(&str, &str)] = &[("kind", "yield"), ("home", "local")];
const STEP_LOCAL: &[(&str, &str)] = &[("kind", "step"), ("home", "local")];
const STEP_INLINE: &[(&str, &str)] = &[("kind", "step"), ("home", "inline")];
const GRID: &[(&str, &str)] = &[("kind", "grid")];
const MANY: &[(&str, &str)] = &[("streams", "10000")];

const SERVER: &str = "server_ns_per_token";

const fn times(
    name: &'static str,
    workload: &'static str,
    figure: &'static str,
    rows: [&'static [(&'static str, &'static str)]; 2],
    against: Against,
) -> Target {
    Target {
        name,
        workload,
        ours: rows[0],
        theirs: rows[1],
        figure,
        unit: "",
        against,
    }
}

const fn bound(
    name: &'static str,
    workload: &'static str,
    (figure, unit): (&'static str, &'static str),
    ours: &'static [(&'static str, &'static str)],
    against: Against,
) -> Target {
    Target {
        name,
        workload,
        ours,
        theirs: ours,
        figure,
        unit,
        against,
    }
}

/// All targets, in the order of their table.
pub(crate) const TARGETS: &[Target] = &[
    times(
        "round trip of 64 B, both ends spinning, p50",
        "rtt",
        "p50_us",
        [SPINNING, &[]],
        Against::Times("tcp_spin", 1.2),
    ),
    times(
        "round trip of 64 B, parked, p50",
        "rtt",
        "p50_us",
        [PARKED, &[]],
        Against::Times("tcp_block", 1.1),
    ),
    times(
        "64 unary calls in flight, server CPU per call",
        "rps",
        SERVER,
        [CLOSED_LOCAL, CLOSED],
        Against::Times("dynamo_tcp", 1.0 / 25.0),
    ),
    times(
        "64 unary calls in flight, server CPU per call",
        "rps",
        SERVER,
        [CLOSED_LOCAL, CLOSED],
        Against::Times("tonic", 1.0 / 6.0),
    ),
    times(
        "64 unary calls in flight, server CPU per call",
        "rps",
        SERVER,
        [CLOSED_LOCAL, CLOSED],
        Against::Times("tokio_mux", 1.0),
    ),
    times(
        "streams, one wake-up per token, server CPU per token",
        "stream",
        SERVER,
        [YIELD_LOCAL, YIELD],
        Against::Times("tonic", 0.5),
    ),
    times(
        "streams, one wake-up per token, server CPU per token",
        "stream",
        SERVER,
        [YIELD_LOCAL, YIELD],
        Against::Times("dynamo_tcp", 1.0 / 15.0),
    ),
    times(
        "streams, one wake-up per token, server CPU per token",
        "stream",
        SERVER,
        [YIELD_LOCAL, YIELD],
        Against::Times("tokio_mux", 1.0),
    ),
    times(
        "streams, all ready at once, server CPU per token",
        "stream",
        SERVER,
        [READY_LOCAL, READY],
        Against::Times("tonic", 0.8),
    ),
    times(
        "streams, all ready at once, server CPU per token",
        "stream",
        SERVER,
        [READY_LOCAL, READY],
        Against::Times("tokio_mux", 1.0),
    ),
    times(
        "streams through StepWriter, server CPU per token",
        "stream",
        SERVER,
        [STEP_LOCAL, YIELD],
        Against::Times("tonic", 0.5),
    ),
    times(
        "streams through StepWriter, server CPU per token",
        "stream",
        SERVER,
        [STEP_LOCAL, YIELD],
        Against::Times("tokio_mux", 1.0),
    ),
    times(
        "1,024 streams in step, server CPU per token",
        "step",
        SERVER,
        [STEP_LOCAL, GRID],
        Against::TimesBestPeer(1.0 / 5.0),
    ),
    times(
        "1,024 streams in step, step to client, p50",
        "step",
        "produced_p50_us",
        [STEP_LOCAL, GRID],
        Against::TimesBestPeer(0.5),
    ),
    bound(
        "1,024 streams in step, server system calls per step",
        "step",
        ("server_syscalls_per_step", "calls"),
        STEP_LOCAL,
        Against::Reported,
    ),
    times(
        "1,024 streams opened at once, first token, p50",
        "burst",
        "ttft_p50_us",
        [PARKED, &[]],
        Against::TimesBestPeer(1.0 / 3.0),
    ),
    times(
        "1,024 streams opened at once, first token, p99",
        "burst",
        "ttft_p99_us",
        [PARKED, &[]],
        Against::TimesBestPeer(1.0 / 3.0),
    ),
    bound(
        "10,000 streams, 20 tokens/s each, added p99",
        "paced",
        ("p99_us", "µs"),
        MANY,
        Against::Above("bare_mux", 1000.0),
    ),
    bound(
        "10,000 streams, server memory per stream",
        "paced",
        ("server_rss_kib_per_stream", "KiB"),
        MANY,
        Against::AtMost(16.0),
    ),
    times(
        "cancel until the handler sees it, p50",
        "cancel",
        "p50_us",
        [PARKED, &[]],
        Against::TimesBestPeer(0.8),
    ),
    pick("pick of 256 instances, round robin", ROUND_ROBIN),
    pick("pick of 256 instances, random", RANDOM),
    pick("pick of 256 instances, power of two", POWER_OF_TWO),
    pick("pick of 256 instances, direct", DIRECT),
    bound(
        "heap allocations per token, server shard",
        "step",
        ("server_allocations_per_token", "per token"),
        STEP_LOCAL,
        Against::AtMost(0.001),
    ),
    bound(
        "heap allocations per token, client shard",
        "step",
        ("client_allocations_per_token", "per token"),
        STEP_LOCAL,
        Against::AtMost(0.001),
    ),
    bound(
        // One for each 64 KiB, which are 512 tokens of 128 B.
        "heap allocations per token, inline client",
        "step",
        ("client_allocations_per_token", "per token"),
        STEP_INLINE,
        Against::AtMost(1.0 / 512.0),
    ),
];

const ROUND_ROBIN: &[(&str, &str)] = &[("policy", "round_robin")];
const RANDOM: &[(&str, &str)] = &[("policy", "random")];
const POWER_OF_TWO: &[(&str, &str)] = &[("policy", "power_of_two")];
const DIRECT: &[(&str, &str)] = &[("policy", "direct")];

const fn pick(name: &'static str, ours: &'static [(&'static str, &'static str)]) -> Target {
    bound(
        name,
        "pick",
        ("pick_p50_ns", "ns"),
        ours,
        Against::AtMost(10.0),
    )
}
