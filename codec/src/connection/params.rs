//! What a caller gives to open and to end a stream.

use std::time::Duration;

use crate::{Metadata, Priority, RequestId, Status, TraceContext};

/// What [`Connection::open`](crate::Connection::open) needs beside the request's bytes.
#[derive(Copy, Clone, Debug)]
pub struct OpenParams<'a> {
    /// The caller's id of the request.
    pub request_id: RequestId,
    /// Time left from now on; it shrinks while the OPEN waits to be written.
    pub deadline: Option<Duration>,
    /// Priority class.
    pub priority: Priority,
    /// Trace context, if the request is sampled.
    pub trace: Option<TraceContext>,
    /// The endpoint, as `namespace.component.name`.
    pub endpoint: &'a str,
    /// Pairs for the handler.
    pub metadata: Metadata<'a>,
}

/// What [`Connection::end`](crate::Connection::end) puts into the terminal.
#[derive(Copy, Clone, Debug)]
pub struct EndParams<'a> {
    /// How the stream ended.
    pub status: Status,
    /// Text for people; cut to 1 KiB.
    pub message: &'a str,
    /// Pairs for the caller.
    pub trailers: Metadata<'a>,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// Name of the limit that was hit; cut to 64 bytes.
    pub limit: Option<&'a str>,
    /// Whether messages still queued are dropped rather than sent before the terminal.
    pub discard_queued: bool,
}

impl EndParams<'_> {
    /// A terminal with a status alone, behind what is queued.
    pub fn new(status: Status) -> Self {
        Self {
            status,
            message: "",
            trailers: Metadata::default(),
            retry_after: None,
            limit: None,
            discard_queued: false,
        }
    }
}
