//! `ringmain-bench`: benchmarks of the request plane, against floors and peers in the same run.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ringmain_bench_harness::CountingAllocator;
use ringmain_bench_harness::entry::Mode;

mod system;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One end of a system; started by the other commands
    #[command(hide = true)]
    End {
        /// Which system
        #[arg(long)]
        system: String,
        #[command(subcommand)]
        mode: Mode,
    },
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            let text = format!("error: {error:#}\n");
            // Nowhere is left to say that stderr is closed.
            std::io::stderr().write_all(text.as_bytes()).ok();
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::End { system, mode } => mode.run(&*system::find(&system)?),
    }
}
