//! The demo's closing table.

use std::fmt::Write;

use super::latency::LatencyJson;
use crate::load::Summary;

/// Prints counts and latencies for people.
pub(crate) fn print_summary(summary: &Summary) -> std::io::Result<()> {
    let mut text = String::new();
    let _cannot_fail = write_summary(&mut text, summary).is_ok();
    super::print(text.as_bytes())
}

fn write_summary(text: &mut String, summary: &Summary) -> std::fmt::Result {
    writeln!(text)?;
    writeln!(
        text,
        "{:<22}{:>10}{:>10}{:>10}{:>10}",
        "latency", "p50", "p99", "p99.9", "max"
    )?;
    row(text, "first token", summary.ttft_us)?;
    row(text, "between tokens", summary.itl_us)?;
    row(text, "whole answer", summary.e2e_us)?;
    writeln!(text)?;
    writeln!(
        text,
        "streams  {} started = {} ok + {} cancelled + {} failed",
        summary.streams_started,
        summary.streams_ok,
        summary.streams_cancelled,
        summary.streams_failed
    )?;
    for (reason, count) in &summary.failures {
        writeln!(text, "  {count} x {reason}")?;
    }
    writeln!(
        text,
        "tokens   {} in {:.1} s over {}",
        summary.tokens, summary.seconds, summary.io
    )?;
    if let (Some(offered), Some(achieved)) = (summary.offered_per_s, summary.achieved_per_s) {
        writeln!(
            text,
            "rate     {achieved:.1} starts/s of {offered:.1} offered"
        )?;
    }
    Ok(())
}

fn row(text: &mut String, name: &str, latency: LatencyJson) -> std::fmt::Result {
    let LatencyJson {
        p50,
        p99,
        p999,
        max,
    } = latency;
    writeln!(
        text,
        "{name:<22}{:>10}{:>10}{:>10}{:>10}",
        show(p50),
        show(p99),
        show(p999),
        show(max)
    )
}

#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn show(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.2} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_the_size() {
        for (us, text) in [(999, "999 µs"), (1_000, "1.00 ms"), (2_500_000, "2.50 s")] {
            assert_eq!(show(us), text);
        }
    }
}
