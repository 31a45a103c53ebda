//! The Mooncake traces: `{"timestamp": 0, "input_length": 6758, "output_length": 500, ..}`.

use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use super::{TraceRequest, numbered_lines};

#[cfg(test)]
mod tests;

/// The fields that are read; others, such as the hashes of prefix blocks, may stand beside them.
#[derive(Deserialize)]
struct Record {
    /// Milliseconds since the trace began. Some traces have fractions.
    timestamp: f64,
    input_length: u32,
    output_length: u32,
}

/// Parses a text with one object a line; arrivals count from the trace's own zero.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<TraceRequest>> {
    numbered_lines(text)
        .map(|(number, line)| request(line).with_context(|| format!("line {number}")))
        .collect()
}

fn request(line: &str) -> anyhow::Result<TraceRequest> {
    let record: Record = serde_json::from_str(line)
        .context("expected an object with timestamp, input_length and output_length")?;
    let at = Duration::try_from_secs_f64(record.timestamp / 1_000.0).with_context(|| {
        format!(
            "timestamp {} is no count of milliseconds from 0",
            record.timestamp
        )
    })?;
    Ok(TraceRequest {
        at,
        prompt_tokens: record.input_length,
        generated_tokens: record.output_length,
    })
}
