//! The end of a stream, as a handler words it.

use std::time::Duration;

use ringmain_codec::{EndParams, Metadata, Status};

/// How a stream ends, in a handler's own words; see
/// [`LocalSink::set_terminal`](crate::LocalSink::set_terminal). Trailers are the sink's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// How it ended; may be good.
    pub status: Status,
    /// Text for people; the caller sees its first KiB.
    pub message: String,
    /// Name of the limit that was hit; the caller sees its first 64 bytes.
    pub limit: Option<String>,
    /// When to try again.
    pub retry_after: Option<Duration>,
}

impl Terminal {
    /// A terminal with a status and a text.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            limit: None,
            retry_after: None,
        }
    }

    pub(crate) fn end<'a>(&'a self, trailers: Metadata<'a>) -> EndParams<'a> {
        EndParams {
            message: &self.message,
            trailers,
            retry_after: self.retry_after,
            limit: self.limit.as_deref(),
            ..EndParams::new(self.status)
        }
    }
}
