//! Steady-state batches of the hot paths' small steps, for counting their instructions.
//!
//! ```text
//! counts --list        each benchmark and how many operations its batch has
//! counts NAME..        runs these, all of the batch and what leads up to it
//! counts               runs all: without a counter around it, a check that they still work
//! ```
//!
//! `cargo xtask counts` runs each in a process of its own under callgrind, which collects inside
//! of [`meter::counted`] alone.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a benchmark states what must hold")]

mod codec;
mod exec;
mod mailbox;
mod meter;
mod quiet;
mod rig;
mod shard;
mod snapshot;

use std::io::{self, Write};

/// One batch.
struct Bench {
    /// What is measured, as `area/what`.
    name: &'static str,
    /// Operations of the batch: the count is divided by it.
    operations: usize,
    run: fn(),
}

const ALL: &[&[Bench]] = &[
    codec::BENCHES,
    mailbox::BENCHES,
    snapshot::BENCHES,
    exec::BENCHES,
    shard::BENCHES,
];

fn main() -> io::Result<()> {
    let benches = || ALL.iter().copied().flatten();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut out = io::stdout().lock();
    if args == ["--list"] {
        for bench in benches() {
            writeln!(out, "{} {}", bench.name, bench.operations)?;
        }
        return Ok(());
    }
    // Cargo and test runners pass flags of their own.
    let names: Vec<_> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    for bench in benches() {
        if names.is_empty() || names.iter().any(|name| *name == bench.name) {
            (bench.run)();
            writeln!(out, "{}: {} operations ran", bench.name, bench.operations)?;
        }
    }
    Ok(())
}
