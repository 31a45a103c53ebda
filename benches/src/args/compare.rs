//! Arguments of the commands that compare and publish.

use std::path::PathBuf;

use clap::Args;

use super::RunArgs;

/// Arguments of `compare`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CompareArgs {
    /// Only these workloads [default: rtt, rps, stream, paced, step, burst, cancel, pick]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) workload: Vec<String>,
    /// Only these peers [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) peers: Vec<String>,
    /// Use the peers as they were built before
    #[arg(long)]
    pub(crate) no_build: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Arguments of `readme`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadmeArgs {
    /// The results file
    #[arg(long, value_name = "FILE")]
    pub(crate) results: PathBuf,
    /// Change nothing; fail unless the README is what the results give
    #[arg(long)]
    pub(crate) check: bool,
    /// The file with the two marker comments
    pub(crate) readme: PathBuf,
}

/// Arguments of `page`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PageArgs {
    /// The results file
    #[arg(long, value_name = "FILE")]
    pub(crate) results: PathBuf,
    /// The folder of its .hgrm files, for the curves
    #[arg(long, value_name = "DIR")]
    pub(crate) hgrm: Option<PathBuf>,
    /// The page to write
    #[arg(long, value_name = "FILE")]
    pub(crate) html: PathBuf,
}
