//! The two modes of a benchmarked process: server and client.

use std::io::{Read, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::caller::System;
use crate::plan::{Plan, ServeArgs};

/// The modes of a benchmarked process.
#[derive(Subcommand, Clone, Debug)]
pub enum Mode {
    /// Serve until stdin ends; the first line of stdout says where
    Serve {
        /// CPUs to stay on, as 0,1
        #[arg(long, value_delimiter = ',')]
        cpus: Vec<usize>,
        /// Count allocations
        #[arg(long)]
        count_allocations: bool,
        /// What the system understands
        #[command(flatten)]
        args: ServeArgs,
    },
    /// Run the plan on stdin (JSON) and print one report (JSON)
    Drive {
        /// CPUs to stay on, as 0,1
        #[arg(long, value_delimiter = ',')]
        cpus: Vec<usize>,
    },
}

/// The first line of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Its process.
    pub pid: u32,
    /// The process between it and the client, if there is one.
    pub broker_pid: Option<u32>,
    /// Where its instances can be reached.
    pub addresses: Vec<String>,
}

#[derive(Parser)]
#[command(about = "One system under benchmark; ringmain-bench starts it")]
struct Cli {
    #[command(subcommand)]
    mode: Mode,
}

/// The `main` of a peer's binary.
#[must_use]
pub fn main(system: &dyn System) -> ExitCode {
    match Cli::parse().mode.run(system) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("error: {error:#}\n");
            // Nowhere is left to say that stderr is closed.
            std::io::stderr().write_all(text.as_bytes()).ok();
            ExitCode::FAILURE
        }
    }
}

impl Mode {
    /// Runs the mode to its end.
    ///
    /// # Errors
    ///
    /// If the system cannot start or the plan cannot be run.
    pub fn run(self, system: &dyn System) -> anyhow::Result<()> {
        match self {
            Self::Serve {
                cpus,
                count_allocations,
                args,
            } => {
                pin(&cpus)?;
                if count_allocations {
                    ringmain_bench_allocator::count_allocations();
                }
                let serving = system.serve(&args)?;
                print(&Ready {
                    pid: std::process::id(),
                    broker_pid: serving.broker_pid,
                    addresses: serving.addresses.clone(),
                })?;
                // The end of stdin is the order to leave; it also comes when the parent dies.
                let mut rest = Vec::new();
                std::io::stdin().read_to_end(&mut rest)?;
                drop(serving);
            }
            Self::Drive { cpus } => {
                pin(&cpus)?;
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text)?;
                let plan: Plan = serde_json::from_str(&text).context("cannot read the plan")?;
                if plan.traced {
                    ringmain_bench_allocator::count_allocations();
                }
                print(&system.drive(&plan)?)?;
            }
        }
        // Threads of the system may still run; nothing of theirs is wanted any more.
        std::process::exit(0)
    }
}

fn pin(cpus: &[usize]) -> anyhow::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu);
    }
    sched_setaffinity(None, &set).with_context(|| format!("cannot stay on CPUs {cpus:?}"))
}

fn print(value: &impl Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    Ok(stdout.flush()?)
}
