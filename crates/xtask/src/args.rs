use clap::{Parser, Subcommand};

use crate::context::Options;
use crate::gate::Step;
use crate::steps;

/// Ringmain's checks and chores.
#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Task {
    /// Everything that must hold, in order, up to the first failure
    Test {
        /// Leave out the slow steps: formatting, lints, tests and tidy only
        #[arg(long)]
        quick: bool,
        /// Add the tests whose names start with `long_`, and miri where there is a nightly
        #[arg(long, conflicts_with = "quick")]
        long: bool,
    },
    /// Check the formatting
    Fmt,
    /// Clippy with warnings denied
    Lint,
    /// Unit and integration tests
    Unit {
        /// Add the tests whose names start with `long_`
        #[arg(long)]
        long: bool,
    },
    /// Examples in the documentation
    Doctest,
    /// Build the API documentation with warnings denied
    Doc,
    /// House rules: layers, lengths, unsafe, spec citations, documented commands
    Tidy,
    /// Third-party crates: bans, licenses, sources
    Deny,
    /// Security advisories against the dependencies (fetches their database)
    Advisories,
    /// Model-check the shared structures
    Loom,
    /// Run each fuzz target for some seconds
    Fuzz {
        /// Seconds for each target
        #[arg(long, default_value_t = 5)]
        seconds: u32,
    },
    /// Run the demo and check what it reports
    Demo,
    /// Count the instructions of the micro benchmarks against their baseline (needs valgrind)
    Counts {
        /// Make what is counted now the baseline
        #[arg(long)]
        bless: bool,
    },
    /// The codec's tests under miri (needs a nightly toolchain)
    Miri,
}

impl Task {
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        match self {
            Self::Test { long, .. } => options.long = *long,
            Self::Unit { long } => options.long = *long,
            Self::Fuzz { seconds } => options.fuzz_seconds = *seconds,
            Self::Counts { bless } => options.bless = *bless,
            Self::Advisories | Self::Miri => options.asked_for = true,
            _ => {}
        }
        options
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        match self {
            Self::Test { quick: true, .. } => steps::ALL
                .iter()
                .filter(|step| step.quick)
                .copied()
                .collect(),
            Self::Test { .. } => steps::ALL.to_vec(),
            Self::Fmt => vec![steps::FMT],
            Self::Lint => vec![steps::LINT],
            Self::Unit { .. } => vec![steps::UNIT],
            Self::Doctest => vec![steps::DOCTEST],
            Self::Doc => vec![steps::DOC],
            Self::Tidy => vec![steps::TIDY],
            Self::Deny => vec![steps::DENY],
            Self::Advisories => vec![steps::ADVISORIES],
            Self::Loom => vec![steps::LOOM],
            Self::Fuzz { .. } => vec![steps::FUZZ],
            Self::Demo => vec![steps::DEMO],
            Self::Counts { .. } => vec![steps::COUNTS],
            Self::Miri => vec![steps::MIRI],
        }
    }
}

/// The subcommands' names, so that the documentation can be checked against them.
pub(crate) fn task_names() -> Vec<String> {
    use clap::CommandFactory;
    Args::command()
        .get_subcommands()
        .map(|task| task.get_name().to_owned())
        .collect()
}
