//! A run of some workloads, from the flags to the files.

use std::collections::BTreeMap;

use anyhow::Context;
use ringmain_reactor::{IoChoice, IoKind};

use crate::args::{Io, OutputArgs, PageArgs, RunArgs};
use crate::catalog::{Programs, check_names};
use crate::compare::targets;
use crate::machine::Machine;
use crate::output::page::{Curves, page};
use crate::output::{self, hgrm, table};
use crate::results::{Results, write_whole};
use crate::run::{Cpus, Outcome, Progress, Runner};
use crate::versions;
use crate::workload::{Arrivals, Settings, Spec, Workload, is_peer};

/// A run in its parts.
pub(crate) struct Session {
    settings: Settings,
    runner: Runner,
    output: OutputArgs,
    arrivals: Option<Arrivals>,
    /// What has been measured so far.
    pub(crate) results: Results,
    outcomes: Vec<Outcome>,
}

impl Session {
    /// Checks the flags and the host.
    ///
    /// # Errors
    ///
    /// If a system is unknown, or a CPU is not there.
    pub(crate) fn new(args: &RunArgs, arrivals: Option<Arrivals>) -> anyhow::Result<Self> {
        check_names(&args.systems.systems)?;
        let systems = &args.systems;
        let peers = (
            systems.peers_dir.as_deref(),
            systems.peers_target.as_deref(),
        );
        let programs = Programs::new(peers.0, peers.1)?;
        let settings = Settings::new(args, driver_of_this_host()?);
        let cpus = Cpus {
            server: systems.server_cpus.clone(),
            client: systems.client_cpus.clone(),
        };
        cpus.check()?;
        allow_many_files();
        let results = Results {
            machine: Machine::read(),
            command: command_line(),
            versions: BTreeMap::new(),
            rows: Vec::new(),
        };
        Ok(Self {
            runner: Runner {
                programs,
                cpus,
                reps: settings.reps,
            },
            settings,
            output: args.output.clone(),
            arrivals,
            results,
            outcomes: Vec::new(),
        })
    }

    /// Runs workloads in turn; tables are printed and files written as each is over.
    ///
    /// # Errors
    ///
    /// If there is nothing to run, or results cannot be written.
    pub(crate) fn run(&mut self, workloads: &[Workload]) -> anyhow::Result<()> {
        let arrivals = self.arrivals.as_ref();
        let of = |workload: &Workload| (*workload, workload.specs(&self.settings, arrivals));
        let mut plans: Vec<(Workload, Vec<Spec>)> = workloads.iter().map(of).collect();
        plans.retain(|(_, specs)| !specs.is_empty());
        if plans.is_empty() {
            anyhow::bail!("none of the named systems takes part in what was asked for");
        }
        let all = || plans.iter().flat_map(|(_, specs)| specs);
        for spec in all() {
            // A peer that is missing is told before hours of others have run.
            self.runner.programs.command(spec.system)?;
        }
        self.results.versions = versions::read(&self.runner.programs, all().map(|s| s.system));
        let estimates = plans
            .iter()
            .map(|(_, specs)| self.runner.estimate_ms(specs));
        let progress = Progress::new(estimates.sum());
        output::print(&format!("{}\n", self.results.machine.line()))?;
        for (workload, specs) in &plans {
            let estimate = self.runner.estimate_ms(specs);
            progress.workload(workload.name(), specs.len(), estimate);
            let outcomes = self.runner.run(specs, &progress);
            let rows = outcomes.iter().map(|outcome| outcome.row.clone());
            self.results.rows.extend(rows);
            self.outcomes.extend(outcomes);
            let text = table::text(&self.results, *workload);
            progress.aside(|| output::print(&text))?;
            self.save()?;
        }
        progress.finish();
        Ok(())
    }

    /// Fails if a row failed or did other work than asked, after everything is written.
    pub(crate) fn verdict(&self) -> anyhow::Result<()> {
        let bad = self
            .results
            .rows
            .iter()
            .filter(|row| !row.work_clean)
            .count();
        if bad > 0 {
            let all = self.results.rows.len();
            anyhow::bail!("{bad} of {all} rows failed or did other work than asked (marked above)");
        }
        Ok(())
    }

    fn save(&self) -> anyhow::Result<()> {
        if let Some(file) = &self.output.json {
            self.results.save(file)?;
        }
        let mut curves = Curves::new();
        for outcome in &self.outcomes {
            let Some(latency) = &outcome.latency else {
                continue;
            };
            let stem = outcome.row.file_stem();
            let text = hgrm::text(latency);
            if let Some(folder) = &self.output.hgrm {
                write_whole(&folder.join(format!("{stem}.hgrm")), &text)?;
            }
            curves.insert(stem, hgrm::parse(&text));
        }
        if let Some(file) = &self.output.html {
            write_whole(file, &publish(&self.results, &curves))?;
        }
        Ok(())
    }
}

/// The page; with the verdict where peers took part.
fn publish(results: &Results, curves: &Curves) -> String {
    let with_peers = results.rows.iter().any(|row| is_peer(&row.system));
    let verdict = with_peers.then(|| targets::cells(results));
    page(results, curves, verdict.as_ref())
}

/// Makes the page of results that were written before.
///
/// # Errors
///
/// If a file cannot be read or written.
pub(crate) fn republish(args: &PageArgs) -> anyhow::Result<()> {
    let results = Results::load(&args.results)?;
    let mut curves = Curves::new();
    for row in &results.rows {
        let stem = row.file_stem();
        let folder = args.hgrm.iter();
        for file in folder.map(|folder| folder.join(format!("{stem}.hgrm"))) {
            // A row that failed, or has no latencies, has none.
            if let Ok(text) = std::fs::read_to_string(&file) {
                curves.insert(stem.clone(), hgrm::parse(&text));
            }
        }
    }
    write_whole(&args.html, &publish(&results, &curves))
}

fn driver_of_this_host() -> anyhow::Result<Io> {
    let resolved = IoChoice::Auto
        .resolve()
        .context("no I/O driver works here")?;
    Ok(match resolved.kind {
        IoKind::Uring => Io::Uring,
        IoKind::Epoll | IoKind::Sim => Io::Epoll,
    })
}

/// Ten thousand streams are ten thousand connections to some systems. Children inherit the limit.
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Refused, the rows that need it fail and say so.
    setrlimit(Resource::Nofile, limit).ok();
}

/// The command as it would be typed in the repository.
fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!(
        "cargo run --release -p ringmain-bench -- {}",
        arguments.join(" ")
    )
}
