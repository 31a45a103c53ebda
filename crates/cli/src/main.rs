//! The ringmain command: serve an endpoint, call one, see the plane at work.

#![forbid(unsafe_code)]

mod args;
mod cmd;
mod engine;
mod exit;
mod load;
mod output;
mod runtime;
mod start;

use std::io;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::exit::FAILURE;
use crate::output::say;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr();
    let outcome = match &cli.command {
        Command::Serve(args) => cmd::serve(args),
        Command::Call(args) => cmd::call(args),
        Command::Demo(args) => cmd::demo(args),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("ringmain: {error:#}"));
            ExitCode::from(FAILURE)
        }
    }
}

/// Warnings and errors by default; `RUST_LOG` asks for more.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .init();
}

/// A reader that has gone away, as `head` does, has seen all it wanted.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
