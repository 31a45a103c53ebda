//! Traces of production traffic: when requests arrived and how long they were.
//!
//! Two public formats are known, told apart by their content: the CSV of the Azure LLM inference
//! traces and the JSON lines of the Mooncake traces. Both become the same list of arrivals,
//! [`Trace`]. How they are played, and at what pace tokens come, is up to whoever plays them.

#![forbid(unsafe_code)]

mod azure;
mod error;
mod moment;
mod mooncake;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

pub use self::error::{LineError, TraceError};

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// When it arrived, counted from the first arrival of the trace.
    pub at: Duration,
    /// Tokens of the request.
    pub prompt_tokens: u32,
    /// Tokens of the answer.
    pub generated_tokens: u32,
}

/// The formats that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A header, then one line for each request: time of arrival, prompt tokens, generated tokens.
    AzureCsv,
    /// One JSON object a line, with a time of arrival in milliseconds.
    MooncakeJsonl,
}

impl Format {
    /// Tells the format by the first line that is not blank.
    fn detect(text: &str) -> Option<Self> {
        let first = text
            .lines()
            .find(|line| !line.trim().is_empty())?
            .trim_start();
        if first.starts_with('{') {
            Some(Self::MooncakeJsonl)
        } else if azure::is_header(first) {
            Some(Self::AzureCsv)
        } else {
            None
        }
    }
}

/// A trace in order of arrival, with at least one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Each request, the first one at zero.
    pub requests: Vec<TraceRequest>,
}

impl Trace {
    /// Reads and parses a trace file; it blocks the calling thread for that.
    ///
    /// # Errors
    ///
    /// Names the file, and where it was read, the line.
    pub fn load(path: &Path) -> Result<Self, TraceError> {
        let text = std::fs::read_to_string(path).map_err(|source| TraceError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|source| TraceError::In {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// Parses a trace of either format.
    ///
    /// # Errors
    ///
    /// Names the line, counted from 1, and what was expected there.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        // A byte order mark is no part of the first column's name.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(format) = Format::detect(text) else {
            return Err(TraceError::Format {
                columns: azure::COLUMNS.join(", "),
            });
        };
        let arrivals = match format {
            Format::AzureCsv => azure::parse(text)?,
            Format::MooncakeJsonl => mooncake::parse(text)?,
        };
        if arrivals.is_empty() {
            return Err(TraceError::Empty);
        }
        Ok(Self {
            requests: in_order(arrivals),
        })
    }
}

/// Sorts by arrival, keeping the order of lines where arrivals are equal, and counts from the
/// first.
fn in_order(mut arrivals: Vec<TraceRequest>) -> Vec<TraceRequest> {
    arrivals.sort_by_key(|arrival| arrival.at);
    let first = arrivals
        .first()
        .map_or(Duration::ZERO, |arrival| arrival.at);
    for arrival in &mut arrivals {
        arrival.at -= first;
    }
    arrivals
}

/// The lines that hold something, with their numbers counted from 1.
fn numbered_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty())
}
