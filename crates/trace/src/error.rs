//! Why a trace cannot be played.

use std::io;
use std::path::PathBuf;
use std::time::TryFromFloatSecsError;

/// Why a trace cannot be read. The innermost reason is the last of its sources.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read the trace {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file's text is no trace.
    #[error("in the trace {}", path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// The text is of no format that is known.
    #[error(
        "neither an Azure LLM trace (a CSV whose header names {columns}) nor a Mooncake trace \
         (lines of JSON objects)"
    )]
    Format {
        /// The columns that a CSV would need.
        columns: String,
    },
    /// A column is missing.
    #[error("the header has no column {0}")]
    Column(&'static str),
    /// Nothing is in it.
    #[error("the trace has no requests")]
    Empty,
    /// A line is none of its format.
    #[error("line {number}")]
    Line {
        /// Counted from 1.
        number: usize,
        /// What is wrong with it.
        source: LineError,
    },
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// A CSV line of another width than the header.
    #[error("{got} fields, but the header names {named}")]
    Fields {
        /// On the line.
        got: usize,
        /// In the header.
        named: usize,
    },
    /// An arrival that is no date and time.
    #[error("{0:?} is no time like 2023-11-16 18:15:46.6805900")]
    Time(String),
    /// A length that is no count.
    #[error("{column} is {text:?}, not a count of tokens")]
    Tokens {
        /// The column.
        column: &'static str,
        /// What stands there.
        text: String,
        /// Why it is no count.
        source: std::num::ParseIntError,
    },
    /// A JSON line that is no such object.
    #[error("expected an object with timestamp, input_length and output_length")]
    Object(#[source] serde_json::Error),
    /// An arrival that is no time since the beginning.
    #[error("timestamp {timestamp} is no count of milliseconds from 0")]
    Timestamp {
        /// What stands there.
        timestamp: f64,
        /// Why it is none.
        source: TryFromFloatSecsError,
    },
}
