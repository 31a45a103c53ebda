//! Ours and the peers in one run, and what the targets say about it.

use std::path::PathBuf;

use anyhow::bail;

use crate::args::CompareArgs;
use crate::catalog::{Class, Entry, Programs, SYSTEMS, check_names};
use crate::output::{self, grid};
use crate::session::Session;
use crate::workload::Workload;

mod build;
pub(crate) mod targets;

/// The workloads that targets are about.
const GATE: [Workload; 8] = [
    Workload::Rtt,
    Workload::Rps,
    Workload::Stream,
    Workload::Paced,
    Workload::Step,
    Workload::Burst,
    Workload::Cancel,
    Workload::Pick,
];
/// Floors that targets are multiples of.
const FLOORS: [&str; 3] = ["tcp_spin", "tcp_block", "bare_mux"];
/// Where results go by default, in the repository.
const RESULTS: &str = "benches/results/compare.json";

/// Builds, runs, prints the tables and the verdict.
///
/// # Errors
///
/// If a name is unknown, a tool is missing, a build fails, or results cannot be written.
pub(crate) fn run(mut args: CompareArgs) -> anyhow::Result<()> {
    let workloads = workloads(&args.workload)?;
    let peers = peers(&args.peers)?;
    let systems = &args.run.systems;
    let folders = (
        systems.peers_dir.as_deref(),
        systems.peers_target.as_deref(),
    );
    let programs = Programs::new(folders.0, folders.1)?;
    if !args.no_build {
        build::build(&programs, &peers)?;
    }
    if args.run.systems.systems.is_empty() {
        let others = SYSTEMS.iter().filter(|entry| {
            entry.class == Class::Ours || FLOORS.contains(&entry.name) || peers.contains(entry)
        });
        args.run.systems.systems = others.map(|entry| entry.name.to_owned()).collect();
    }
    let file = args
        .run
        .output
        .json
        .get_or_insert_with(|| PathBuf::from(RESULTS));
    let file = file.display().to_string();
    let mut session = Session::new(&args.run, None)?;
    session.run(&workloads)?;
    let cells = targets::cells(&session.results);
    output::print(&format!(
        "\ntargets\n{}",
        grid::render(&cells.lines, cells.names)
    ))?;
    output::print(&format!("\nresults are in {file}\n"))?;
    session.verdict()
}

fn workloads(names: &[String]) -> anyhow::Result<Vec<Workload>> {
    if names.is_empty() {
        return Ok(GATE.to_vec());
    }
    let find = |name: &String| match Workload::find(name) {
        Some(workload) => Ok(workload),
        None => {
            let known: Vec<_> = Workload::ALL.iter().map(|each| each.name()).collect();
            bail!(
                "no workload is called {name}; there are {}",
                known.join(", ")
            )
        }
    };
    names.iter().map(find).collect()
}

fn peers(names: &[String]) -> anyhow::Result<Vec<&'static Entry>> {
    check_names(names)?;
    let chosen = SYSTEMS.iter().filter(|entry| {
        let is_peer = matches!(entry.class, Class::Peer | Class::Reported);
        is_peer && (names.is_empty() || names.iter().any(|name| name == entry.name))
    });
    Ok(chosen.collect())
}

#[cfg(test)]
mod tests {
    use super::{GATE, peers, workloads};

    #[test]
    fn names_choose_and_none_means_all() {
        assert_eq!(workloads(&[]).unwrap(), GATE);
        assert_eq!(workloads(&["step".to_owned()]).unwrap().len(), 1);
        let error = workloads(&["stop".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("stop") && error.contains("step"), "{error}");
        assert!(peers(&[]).unwrap().len() > 5);
        assert_eq!(peers(&["tonic".to_owned()]).unwrap()[0].name, "tonic");
        assert!(peers(&["ringmain".to_owned()]).unwrap().is_empty());
    }
}
