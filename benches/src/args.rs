//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use ringmain_bench_harness::entry::Mode;

mod compare;

pub(crate) use self::compare::{CompareArgs, PageArgs, ReadmeArgs};

/// Shown below the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ringmain-bench all --quick --json out.json      every workload in under 3 minutes
  ringmain-bench rtt --idle spin --reps 9          one workload, one idle policy
  ringmain-bench stream --io uring,epoll           both drivers side by side
  ringmain-bench stream --systems ringmain,tonic   with a peer that was built before
  ringmain-bench compare --reps 5                  build the peers, run, judge the targets
Server and client are processes of their own, pinned to --server-cpus and --client-cpus.
Tables go to stdout, progress to stderr. README.md in benches/ says how each figure is taken.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Every workload below, one after the other
    All(RunArgs),
    /// Ping-pong without any protocol: TCP, Unix sockets, shared memory
    Floor(RunArgs),
    /// One call at a time: round trip of 64 B, beside the floors
    Rtt(RunArgs),
    /// Unary calls, 64 in flight, and at a fixed rate (open loop)
    Rps(RunArgs),
    /// Streams at full speed: 64 callers x 256 items x 128 B; ready, yield, step
    Stream(RunArgs),
    /// Streams of timed items, open loop: 10,000 x 20/s and 1,024 x 100/s
    Paced(RunArgs),
    /// 1,024 streams that get one item each on a common 10 ms step
    Step(RunArgs),
    /// 1,024 streams opened at one instant: time to first item
    Burst(RunArgs),
    /// From dropping a stream to the handler seeing it
    Cancel(RunArgs),
    /// Clients that connect, call once and leave
    Churn(RunArgs),
    /// Choosing among 256 instances while the set changes 1,000 times a second
    Pick(RunArgs),
    /// Measured streams beside long requests and consumers that never read
    Mixed(RunArgs),
    /// Client, router, worker: what a relay costs per item
    Relay(RunArgs),
    /// Client lanes x instances: connections and cost as the fleet grows
    Fleet(RunArgs),
    /// Messages of 16 KiB to 64 MiB beside 64 streams of small items
    Large(RunArgs),
    /// Calls at the times and of the lengths of a production trace
    Trace(TraceArgs),
    /// Build the peers, run the gate workloads interleaved, judge the targets
    Compare(CompareArgs),
    /// Write the comparison table of a results file into a README, or check it
    Readme(ReadmeArgs),
    /// Write the HTML page of a results file and its .hgrm files
    Page(PageArgs),
    /// One end of a system; started by the other commands
    #[command(hide = true)]
    End {
        /// Which system
        #[arg(long)]
        system: String,
        /// Server or client
        #[command(subcommand)]
        mode: Mode,
    },
}

/// Arguments of every workload.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) systems: SystemArgs,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The load; what is left out is the workload's own default.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Load (default: the workload's own)")]
pub(crate) struct LoadArgs {
    /// Bytes of one item
    #[arg(long, visible_alias = "payload", value_name = "N",
          value_parser = clap::value_parser!(u32).range(16..))]
    pub(crate) item_bytes: Option<u32>,
    /// Bytes of one request, at least 64
    #[arg(long, value_name = "N")]
    pub(crate) request_bytes: Option<usize>,
    /// Streams or callers at once; rounds of cancel
    #[arg(long, value_name = "N")]
    pub(crate) streams: Option<usize>,
    /// Items of one call
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<u32>,
    /// Connections to each instance, where the system leaves a choice
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// Calls a second of an open loop
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<u64>,
    /// Time between the items of one stream
    #[arg(long, value_name = "DUR", value_parser = humantime::parse_duration)]
    pub(crate) interval: Option<Duration>,
}

/// Which systems, and how ours is set up. Lists give a row for each value.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Systems")]
pub(crate) struct SystemArgs {
    /// Only these systems; peers among them must have been built (compare does)
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) systems: Vec<String>,
    /// I/O driver of ringmain [default: uring where the host allows it]
    #[arg(long, value_name = "IO", value_delimiter = ',')]
    pub(crate) io: Vec<Io>,
    /// Where ringmain's client connections live [default: local, and inline where it matters]
    #[arg(long, value_name = "HOME", value_delimiter = ',')]
    pub(crate) home: Vec<Home>,
    /// What an idle thread of ringmain does [default: park, and spin for rtt]
    #[arg(long, value_name = "IDLE", value_delimiter = ',')]
    pub(crate) idle: Vec<Idle>,
    /// How long the adaptive idle policy spins, in microseconds
    #[arg(long, value_name = "N")]
    pub(crate) spin_us: Option<u32>,
    /// Shards of ringmain's server, and of its client unless its home is inline
    #[arg(long, value_name = "N")]
    pub(crate) shards: Option<usize>,
    /// CPUs of the server and of any broker or router
    #[arg(long, value_name = "CPUS", value_delimiter = ',', default_value = "0")]
    pub(crate) server_cpus: Vec<usize>,
    /// CPUs of the client
    #[arg(long, value_name = "CPUS", value_delimiter = ',', default_value = "1")]
    pub(crate) client_cpus: Vec<usize>,
    /// The peers' workspace [default: benches/peers of this repository]
    #[arg(long, value_name = "DIR")]
    pub(crate) peers_dir: Option<PathBuf>,
    /// Where the peers' binaries are built [default: target/ in the peers' workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) peers_target: Option<PathBuf>,
}

/// How often and how long.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// Repetitions of each row, interleaved across systems [default: 3; 1 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) reps: Option<u32>,
    /// The window that is measured [default: 3s; 250ms with --quick]
    #[arg(long, value_name = "DUR", value_parser = humantime::parse_duration)]
    pub(crate) window: Option<Duration>,
    /// Time before the window [default: 1s; 100ms with --quick]
    #[arg(long, value_name = "DUR", value_parser = humantime::parse_duration)]
    pub(crate) warm_up: Option<Duration>,
    /// Short windows, fewer streams, one repetition: shows function, not speed
    #[arg(long)]
    pub(crate) quick: bool,
    /// One more repetition of each row that counts syscalls, allocations and context switches
    /// [default: yes; with --quick only for stream and step]
    #[arg(long, value_name = "WHETHER")]
    pub(crate) traced: Option<YesNo>,
}

/// Where results go, beside the tables on stdout.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write all figures of all repetitions as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the latency distribution of each row as an HdrHistogram percentile file
    #[arg(long, value_name = "DIR")]
    pub(crate) hgrm: Option<PathBuf>,
    /// Write a page with percentile curves and tables
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Arguments of `trace`.
#[derive(Args, Clone, Debug)]
pub(crate) struct TraceArgs {
    /// Azure LLM CSV (TIMESTAMP,ContextTokens,GeneratedTokens) or Mooncake JSONL (timestamp,
    /// input_length, output_length)
    pub(crate) file: PathBuf,
    /// Play only the first so many requests
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) limit: usize,
    /// Play arrivals so many times faster; the pace of items stays
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = factor)]
    pub(crate) speedup: f64,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// An I/O driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// io_uring.
    Uring,
    /// epoll.
    Epoll,
}

/// Where client connections live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Home {
    /// Inside the caller's own tokio runtime.
    Inline,
    /// On shards, called from a tokio runtime.
    Shards,
    /// On a shard whose own tasks call.
    Local,
}

/// What an idle thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Idle {
    /// Sleep in the kernel at once.
    Park,
    /// Spin for a while, then sleep.
    Adaptive,
    /// Never sleep.
    Spin,
}

/// A choice that has a default of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// Do it.
    Yes,
    /// Leave it.
    No,
}

/// The name of an enum's value on the command line, in options and in results.
pub(crate) fn word(value: impl ValueEnum) -> String {
    let possible = value.to_possible_value();
    possible.map_or_else(String::new, |value| value.get_name().to_owned())
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err("a number above 0 is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Home, Idle, Io, factor, word};

    #[test]
    fn values_have_the_names_that_systems_know() {
        assert_eq!(word(Io::Uring), "uring");
        assert_eq!(word(Home::Local), "local");
        assert_eq!(word(Idle::Adaptive), "adaptive");
    }

    #[test]
    fn a_speedup_is_above_zero() {
        assert_eq!(factor("2.5"), Ok(2.5));
        assert!(factor("0").is_err());
        assert!(factor("inf").is_err());
    }
}
