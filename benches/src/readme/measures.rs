//! The lines of the README's table.

/// One line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) workload: &'static str,
    pub(super) figure: &'static str,
    /// From the unit of results to that of the name.
    pub(super) scale: f64,
    /// Which of our rows, and which of the others'.
    pub(super) ours: &'static [(&'static str, &'static str)],
    pub(super) theirs: &'static [(&'static str, &'static str)],
}

const fn measure(
    name: &'static str,
    workload: &'static str,
    (figure, scale): (&'static str, f64),
    ours: &'static [(&'static str, &'static str)],
    theirs: &'static [(&'static str, &'static str)],
) -> Measure {
    Measure {
        name,
        workload,
        figure,
        scale,
        ours,
        theirs,
    }
}

const PARKED: &[(&str, &str)] = &[("home", "local"), ("idle", "park")];
const SERVER: &str = "server_ns_per_token";

pub(super) const MEASURES: &[Measure] = &[
    measure(
        "round trip of 64 B, p50, µs",
        "rtt",
        ("p50_us", 1.0),
        PARKED,
        &[],
    ),
    measure(
        "64 calls in flight, server CPU per call, µs",
        "rps",
        (SERVER, 1e-3),
        &[("load", "closed"), ("home", "local")],
        &[("load", "closed")],
    ),
    measure(
        "full streams, all ready at once, server CPU per token, ns",
        "stream",
        (SERVER, 1.0),
        &[("kind", "ready"), ("home", "local")],
        &[("kind", "ready")],
    ),
    measure(
        "full streams, a wake-up per token, server CPU per token, ns",
        "stream",
        (SERVER, 1.0),
        &[("kind", "yield"), ("home", "local")],
        &[("kind", "yield")],
    ),
    measure(
        "full streams, a step at a time, server CPU per token, ns",
        "stream",
        (SERVER, 1.0),
        &[("kind", "step"), ("home", "local")],
        &[("kind", "yield")],
    ),
    measure(
        "1,024 streams, 10 ms step, server CPU per token, ns",
        "step",
        (SERVER, 1.0),
        &[("kind", "step"), ("home", "local")],
        &[("kind", "grid")],
    ),
    measure(
        "1,024 streams, 10 ms step, step to client p50, µs",
        "step",
        ("produced_p50_us", 1.0),
        &[("kind", "step"), ("home", "local")],
        &[("kind", "grid")],
    ),
    measure(
        "1,024 streams opened at once, first token p99, µs",
        "burst",
        ("ttft_p99_us", 1.0),
        PARKED,
        &[],
    ),
    measure(
        "10,000 streams, 20 tokens/s each, p99, µs",
        "paced",
        ("p99_us", 1.0),
        &[("streams", "10000")],
        &[("streams", "10000")],
    ),
    measure(
        "cancel until the handler sees it, p50, µs",
        "cancel",
        ("p50_us", 1.0),
        PARKED,
        &[],
    ),
];
