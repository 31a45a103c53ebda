//! The trace that is played: a file's, or a small made one.

use std::path::Path;

use ringmain_bench_harness::{Load, Plan, PlanKind, REQUEST_BYTES};
use ringmain_trace::{Trace, TraceRequest};
use serde_json::json;

use super::settings::millis;
use super::spec::{Rows, plan};
use crate::args::{Home, Idle};

/// Time between the items of one stream.
const INTERVAL_US: u64 = 5_000;
/// Bytes of a token of the request.
const PROMPT_TOKEN_BYTES: usize = 4;
/// Longest request that is really sent.
const PROMPT_BYTES_MAX: usize = 64 * 1024;
/// Longest time that streams get to end after the last arrival: calls that take longer are cut.
const TAIL_MS: u64 = 10_000;

/// Calls: arrival in microseconds, request bytes, items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrivals {
    /// What the rows name.
    pub(crate) name: String,
    pub(crate) calls: Vec<(u64, usize, u32)>,
}

impl Arrivals {
    /// A made trace of `span_ms`: the same one each time, with lengths as skewed as real ones.
    pub(crate) fn made(span_ms: u64) -> Self {
        let count = (span_ms / 4).clamp(20, 2000);
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let calls = (0..count).map(|index| {
            let at = index * span_ms * 1000 / count + draw(2000);
            // Most requests are short, one in ten is long.
            let words = if draw(10) == 0 { 8192 } else { 512 };
            let bytes = 64 + usize::try_from(draw(words) * 4).unwrap_or(0);
            let longest = if draw(10) == 0 { 40 } else { 12 };
            let items = 1 + u32::try_from(draw(longest)).unwrap_or(0);
            (at, bytes, items)
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_unstable();
        Self {
            name: "made".to_owned(),
            calls,
        }
    }

    /// The first `limit` requests of a file, arriving `speedup` times as fast.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is no trace.
    pub(crate) fn load(file: &Path, limit: usize, speedup: f64) -> anyhow::Result<Self> {
        let mut requests = Trace::load(file)?.requests;
        requests.truncate(limit.max(1));
        let call = |request: &TraceRequest| {
            let at = request.at.div_f64(speedup).as_micros();
            let bytes = request.prompt_tokens as usize * PROMPT_TOKEN_BYTES;
            (
                u64::try_from(at).unwrap_or(u64::MAX),
                bytes.clamp(REQUEST_BYTES, PROMPT_BYTES_MAX),
                request.generated_tokens.max(1),
            )
        };
        let name = file.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            calls: requests.iter().map(call).collect(),
        })
    }

    fn span_ms(&self) -> u64 {
        self.calls.last().map_or(0, |call| call.0 / 1000)
    }
}

/// The rows that play `arrivals`, or a made trace.
pub(super) fn rows(rows: &mut Rows<'_>, arrivals: Option<&Arrivals>) {
    let span_ms = millis(rows.settings.window);
    let made = || Arrivals::made(span_ms);
    let arrivals = arrivals.cloned().unwrap_or_else(made);
    let mut base = Plan {
        interval_us: INTERVAL_US,
        ..plan(Load::Trace, PlanKind::Paced)
    };
    let interval = rows.settings.load.interval;
    let interval_us = interval.map_or(INTERVAL_US, |each| millis(each).max(1) * 1000);
    let items_max = u32::try_from(TAIL_MS * 1000 / interval_us)
        .unwrap_or(u32::MAX)
        .max(1);
    base.trace = arrivals.calls.clone();
    for call in &mut base.trace {
        call.2 = call.2.clamp(1, items_max);
    }
    let longest = base.trace.iter().map(|call| u64::from(call.2)).max();
    let tail_ms = (longest.unwrap_or(0) + 2) * interval_us / 1000;
    base.window_ms = arrivals.span_ms() + tail_ms + 50;
    base.streams = base.trace.len();
    let homes = [(Home::Local, Idle::Park)];
    let first = rows.len();
    rows.ours(&base, &homes);
    rows.peers(&base);
    for spec in rows.since(first) {
        // Every call counts, so the window opens before the first one.
        spec.plan.warm_up_ms = 0;
        for name in ["streams", "kind"] {
            spec.params.remove(name);
        }
        spec.params.remove("request_bytes");
        spec.params.insert("trace".to_owned(), json!(arrivals.name));
        spec.params
            .insert("calls".to_owned(), json!(arrivals.calls.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::Arrivals;

    #[test]
    fn a_file_is_played_as_its_lines_say() {
        let name = format!("ringmain-bench-trace-{}.csv", std::process::id());
        let file = std::env::temp_dir().join(name);
        let text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2031-01-01 00:00:00,100,7\n\
                    2031-01-01 00:00:01,1,0\n2031-01-01 00:00:02,1000000,9\n";
        std::fs::write(&file, text).unwrap();
        let arrivals = Arrivals::load(&file, 3, 2.0).unwrap();
        let calls = [(0, 400, 7), (500_000, 64, 1), (1_000_000, 65_536, 9)];
        assert_eq!(arrivals.calls, calls);
        assert_eq!(Arrivals::load(&file, 1, 2.0).unwrap().calls.len(), 1);
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_made_trace_is_in_order_and_always_the_same() {
        let made = Arrivals::made(250);
        assert_eq!(made, Arrivals::made(250));
        assert!(made.calls.is_sorted());
        assert!(made.calls.iter().all(|call| call.1 >= 64 && call.2 >= 1));
        assert!(made.span_ms() <= 252, "{}", made.span_ms());
    }
}
