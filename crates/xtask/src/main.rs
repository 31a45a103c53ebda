//! The project's checks and chores. `cargo xtask test` decides whether a change is good, on a
//! developer's machine and in CI alike; every step of it also runs alone.
#![forbid(unsafe_code)]

mod args;
mod context;
mod gate;
mod install;
mod process;
mod steps;
mod tidy;

use std::io;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

use crate::args::Args;
use crate::context::Context;

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let context = Context::discover(args.task.options()).context("no workspace to check")?;
    let tally = gate::run(&args.task.steps(), &context, &mut io::stdout())?;
    Ok(if tally.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
