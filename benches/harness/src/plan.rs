//! What a client is told to do, and the options that systems understand.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::request::Kind;

/// Options of a server process.
#[derive(Args, Clone, Debug, Default)]
pub struct ServeArgs {
    /// Options that only this system knows, as KEY=VALUE
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Instances to serve from this process
    #[arg(long, default_value_t = 1)]
    pub instances: usize,
    /// Address of the worker to pass calls on to, where this process is a router
    #[arg(long, value_name = "ADDRESS")]
    pub upstream: Option<String>,
}

/// Options of a client's connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectArgs {
    /// Addresses of the server's instances.
    pub addresses: Vec<String>,
    /// Connections to each instance, where the system leaves a choice.
    pub connections: usize,
    /// Threads that the client spreads its streams over.
    pub lanes: usize,
    /// Options that only this system knows, as `KEY=VALUE`.
    pub set: Vec<String>,
}

/// The value of `key` among `KEY=VALUE` options; the last one counts.
#[must_use]
pub fn option<'a>(set: &'a [String], key: &str) -> Option<&'a str> {
    let value = |pair: &'a String| {
        let (name, value) = pair.split_once('=')?;
        (name == key).then_some(value)
    };
    set.iter().rev().find_map(value)
}

/// How a client measures.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// `streams` callers, each with one call at a time: throughput and cost of one item.
    Closed,
    /// `rate` calls a second at their intended times, whether or not earlier ones have ended.
    Open,
    /// `streams` long streams of timed items.
    Paced,
    /// `streams` opened at one instant, over and over: time to first token.
    Burst,
    /// Streams dropped after their first item: time until the handler sees it.
    Cancel,
    /// Clients that connect, call once and leave.
    Churn,
    /// Closed loops beside long requests and consumers that never read.
    Mixed,
    /// One caller of large messages beside paced streams.
    Large,
    /// Calls at the times and of the lengths of a trace.
    Trace,
}

/// One repetition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// How to measure.
    pub load: Load,
    /// How items become ready.
    pub kind: PlanKind,
    /// Streams or callers at once.
    pub streams: usize,
    /// Bytes of one item.
    pub item_bytes: u32,
    /// Items of one call.
    pub items: u32,
    /// Bytes of one request, at least 64.
    pub request_bytes: usize,
    /// Time between the items of one stream.
    pub interval_us: u64,
    /// Calls a second of an open loop.
    pub rate: u64,
    /// Time before the window.
    pub warm_up_ms: u64,
    /// The window that is measured.
    pub window_ms: u64,
    /// Consumers that never read, in a mixed load.
    pub wedged: usize,
    /// Calls of a trace: arrival in microseconds, request bytes, items.
    #[serde(default)]
    pub trace: Vec<(u64, usize, u32)>,
    /// Count syscalls and allocations; such a repetition gives no times.
    pub traced: bool,
    /// The server's process.
    pub server_pid: u32,
    /// The process between, if there is one.
    pub broker_pid: Option<u32>,
    /// How to connect.
    pub connect: ConnectArgs,
}

/// [`Kind`] in a plan: those that a user can ask for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PlanKind {
    /// All items at once.
    Ready,
    /// One item per turn of the server's scheduler.
    Yield,
    /// Items on each stream's own clock.
    Paced,
    /// Items of all streams on one clock.
    Grid,
    /// As `Grid`, or as `Ready` without an interval, pushed a step at a time.
    Step,
}

impl From<PlanKind> for Kind {
    fn from(kind: PlanKind) -> Self {
        match kind {
            PlanKind::Ready => Self::Ready,
            PlanKind::Yield => Self::Yield,
            PlanKind::Paced => Self::Paced,
            PlanKind::Grid => Self::Grid,
            PlanKind::Step => Self::Step,
        }
    }
}
