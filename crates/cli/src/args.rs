//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ringmain_codec::EndpointId;
use ringmain_discovery::RegistryUrl;
use ringmain_reactor::{Address, IoChoice};
use ringmain_tuning::{Pinning, ShardCount};

use crate::engine::{EngineKind, Pace};

const EXAMPLES: &str = "\
Examples:
  ringmain demo
  ringmain serve --listen 127.0.0.1:0 --endpoint prod.worker.generate --engine mock --registry file:/tmp/reg
  ringmain call prod.worker.generate --data 'hello there' --registry file:/tmp/reg";

/// The request plane for LLM inference on Linux.
#[derive(Debug, Parser)]
#[command(name = "ringmain", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve an endpoint until SIGTERM, then drain.
    Serve(ServeArgs),
    /// Call an endpoint and print its tokens as they arrive.
    Call(CallArgs),
    /// Two workers, a router and a burst of prompts in one process, nothing else needed.
    Demo(DemoArgs),
}

/// Threads and I/O.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Threads and I/O")]
pub(crate) struct IoArgs {
    /// Driver: auto takes io_uring where kernel and container allow it, else epoll.
    #[arg(long, value_name = "auto|uring|epoll", default_value = "auto")]
    pub(crate) io: IoChoice,
    /// Shards (threads that carry data): auto takes one per allowed CPU.
    #[arg(long, value_name = "auto|N", default_value = "auto")]
    pub(crate) shards: ShardCount,
    /// Pin each shard to one allowed CPU.
    #[arg(long, value_name = "auto|off", default_value = "auto")]
    pub(crate) pin: Pinning,
    /// Spin this long before sleeping while traffic is dense; 0 on shared cores, 50 to 200 on
    /// cores of its own.
    #[arg(long, value_name = "US", default_value_t = 0)]
    pub(crate) spin_us: u32,
}

/// What the mock engine does.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct PaceArgs {
    /// Tokens of an answer, unless the call's metadata `max_tokens` says otherwise.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) tokens: u32,
    /// Time to first token.
    #[arg(long, value_name = "DUR", default_value = "50ms", value_parser = humantime::parse_duration)]
    pub(crate) ttft: Duration,
    /// Inter-token time.
    #[arg(long, value_name = "DUR", default_value = "10ms", value_parser = humantime::parse_duration)]
    pub(crate) itl: Duration,
    /// Share by which each wait varies.
    #[arg(long, value_name = "0..1", default_value_t = 0.0, value_parser = share)]
    pub(crate) jitter: f64,
    /// Share of requests that fail in the middle, on purpose.
    #[arg(long, value_name = "0..1", default_value_t = 0.0, value_parser = share)]
    pub(crate) fail_ratio: f64,
}

/// Arguments of `serve`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen: `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`; port 0 takes a free one. May be
    /// given several times.
    #[arg(long, value_name = "ADDR", required = true)]
    pub(crate) listen: Vec<Address>,
    /// The endpoint to serve, as namespace.component.name.
    #[arg(long, value_name = "NS.COMPONENT.NAME")]
    pub(crate) endpoint: EndpointId,
    /// What answers: mock, echo, or replay:FILE (the words of a text as tokens).
    #[arg(long, value_name = "ENGINE", default_value = "mock")]
    pub(crate) engine: EngineKind,
    /// Where instances are registered: file:DIR or static:FILE.
    #[arg(long, value_name = "URL")]
    pub(crate) registry: RegistryUrl,
    /// The address that callers are told, or the interface whose address it is; needed when
    /// listening on a wildcard address with several candidates.
    #[arg(long, value_name = "ADDR|IFACE")]
    pub(crate) advertise: Option<String>,
    /// Handlers that run at once in this process.
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    pub(crate) concurrency_max: usize,
    /// Requests that wait for a handler slot; past it they are refused as overloaded.
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    pub(crate) queue_max: usize,
    /// Longest time that SIGTERM waits for running requests.
    #[arg(long, value_name = "DUR", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) drain_timeout: Duration,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    /// Print one JSON object per event instead of text.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Arguments of `call`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CallArgs {
    /// The endpoint to call, as namespace.component.name.
    #[arg(value_name = "NS.COMPONENT.NAME")]
    pub(crate) endpoint: EndpointId,
    /// The request: text, @FILE, or - for standard input.
    #[arg(long, value_name = "TEXT|@FILE|-", default_value = "")]
    pub(crate) data: String,
    /// Where instances are found: file:DIR or static:FILE.
    #[arg(long, value_name = "URL")]
    pub(crate) registry: RegistryUrl,
    /// Ask the handler to stop after this many tokens.
    #[arg(long, value_name = "N")]
    pub(crate) stop_after: Option<u64>,
    /// Give up after this long, everything included.
    #[arg(long, value_name = "DUR", value_parser = humantime::parse_duration)]
    pub(crate) deadline: Option<Duration>,
    /// Ask for so many tokens (metadata `max_tokens`).
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
    /// A pair for the handler; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) metadata: Vec<(String, String)>,
    /// Call this instance and no other.
    #[arg(long, value_name = "ID")]
    pub(crate) instance: Option<ringmain_codec::InstanceId>,
    /// How long to wait for an instance to appear.
    #[arg(long, value_name = "DUR", default_value = "2s", value_parser = humantime::parse_duration)]
    pub(crate) wait: Duration,
    /// Where the client's connections live.
    #[arg(long, value_enum, default_value_t = HomeArg::Inline)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    /// Print one JSON object at the end instead of tokens.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Where a client's connections live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HomeArg {
    /// Inside the caller's own runtime.
    Inline,
    /// On pinned shards.
    Shards,
}

/// Arguments of `demo`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DemoArgs {
    /// Prompts sent at once.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) prompts: usize,
    /// Workers that answer.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) workers: usize,
    /// Replay a production trace instead: CSV (TIMESTAMP,ContextTokens,GeneratedTokens) or JSONL
    /// (timestamp, input_length, output_length).
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Play arrivals so many times faster; the pace of tokens stays.
    #[arg(long, value_name = "N", default_value_t = 1.0, requires = "trace", value_parser = speedup)]
    pub(crate) speedup: f64,
    /// Replay only the first so many requests of the trace.
    #[arg(long, value_name = "N", requires = "trace")]
    pub(crate) limit: Option<usize>,
    /// Where the router's connections live.
    #[arg(long, value_enum, default_value_t = HomeArg::Inline)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    /// Print one JSON object at the end instead of text.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

impl PaceArgs {
    /// What the engine is told.
    pub(crate) fn pace(&self) -> Pace {
        Pace {
            tokens: self.tokens,
            ttft: self.ttft,
            itl: self.itl,
            jitter: self.jitter,
            fail_ratio: self.fail_ratio,
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 1 is needed".to_owned()),
    }
}

fn speedup(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err("a number above 0 is needed".to_owned()),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is needed")?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn shares_and_pairs() {
        assert_eq!(share("0.5"), Ok(0.5));
        assert!(share("1.5").is_err());
        assert!(speedup("0").is_err());
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(pair("a").is_err());
    }
}
