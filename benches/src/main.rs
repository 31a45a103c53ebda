//! `ringmain-bench`: benchmarks of the request plane, against floors and peers in the same run.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use ringmain_bench_harness::CountingAllocator;

use crate::args::{Command, EXAMPLES, RunArgs};
use crate::session::Session;
use crate::workload::{Arrivals, Workload};

mod args;
mod catalog;
mod compare;
mod floor;
mod machine;
mod output;
mod pick;
mod readme;
mod results;
mod run;
mod session;
mod stats;
mod system;
mod versions;
mod workload;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[derive(Parser)]
#[command(version, about, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            let text = format!("error: {error:#}\n");
            // Nowhere is left to say that stderr is closed.
            std::io::stderr().write_all(text.as_bytes()).ok();
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::All(args) => measure(&args, &Workload::ALL),
        Command::Floor(args) => measure(&args, &[Workload::Floor]),
        Command::Rtt(args) => measure(&args, &[Workload::Rtt]),
        Command::Rps(args) => measure(&args, &[Workload::Rps]),
        Command::Stream(args) => measure(&args, &[Workload::Stream]),
        Command::Paced(args) => measure(&args, &[Workload::Paced]),
        Command::Step(args) => measure(&args, &[Workload::Step]),
        Command::Burst(args) => measure(&args, &[Workload::Burst]),
        Command::Cancel(args) => measure(&args, &[Workload::Cancel]),
        Command::Churn(args) => measure(&args, &[Workload::Churn]),
        Command::Pick(args) => measure(&args, &[Workload::Pick]),
        Command::Mixed(args) => measure(&args, &[Workload::Mixed]),
        Command::Relay(args) => measure(&args, &[Workload::Relay]),
        Command::Fleet(args) => measure(&args, &[Workload::Fleet]),
        Command::Large(args) => measure(&args, &[Workload::Large]),
        Command::Trace(args) => {
            let arrivals = Arrivals::load(&args.file, args.limit, args.speedup)?;
            let mut session = Session::new(&args.run, Some(arrivals))?;
            session.run(&[Workload::Trace])?;
            session.verdict()
        }
        Command::Compare(args) => compare::run(args),
        Command::Readme(args) => readme::run(&args),
        Command::Page(args) => session::republish(&args),
        Command::End { system, mode } => mode.run(&*system::find(&system)?),
    }
}

fn measure(args: &RunArgs, workloads: &[Workload]) -> anyhow::Result<()> {
    let mut session = Session::new(args, None)?;
    session.run(workloads)?;
    session.verdict()
}

/// A reader that has gone away, as `head` does, has seen all it wanted.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
