//! The Mooncake traces: `{"timestamp": 0, "input_length": 6758, "output_length": 500, ..}`.

use std::time::Duration;

use serde::Deserialize;

use super::{LineError, TraceError, TraceRequest, numbered_lines};

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
pub(super) fn parse(text: &str) -> Result<Vec<TraceRequest>, TraceError> {
    numbered_lines(text)
        .map(|(number, line)| request(line).map_err(|source| TraceError::Line { number, source }))
        .collect()
}

fn request(line: &str) -> Result<TraceRequest, LineError> {
    let record: Record = serde_json::from_str(line).map_err(LineError::Object)?;
    let timestamp = record.timestamp;
    let at = Duration::try_from_secs_f64(timestamp / 1_000.0)
        .map_err(|source| LineError::Timestamp { timestamp, source })?;
    Ok(TraceRequest {
        at,
        prompt_tokens: record.input_length,
        generated_tokens: record.output_length,
    })
}
