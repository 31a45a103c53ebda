//! What a handler is called with.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use bytes::Bytes;
use ringmain_codec::{EndpointId, Metadata, Open, Priority, RequestId, TraceContext};
use ringmain_shard::{StreamCell, WaitKey};

/// One request as its handler sees it; `I` is where further input comes from.
#[derive(Debug)]
pub struct Request<I> {
    /// What came with the call.
    pub head: RequestHead,
    /// The first message, whole. Empty if the call carried none.
    pub data: Bytes,
    /// Further messages, for calls that stream their input.
    pub input: I,
    /// Whether the caller wants it stopped.
    pub context: Context,
}

/// The fixed part of a request.
#[derive(Clone, Debug)]
pub struct RequestHead {
    /// The caller's id of the request.
    pub id: RequestId,
    /// The endpoint that was called.
    pub endpoint: EndpointId,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
    /// Priority class.
    pub priority: Priority,
    /// Trace context, if the request is sampled.
    pub trace: Option<TraceContext>,
    /// Pairs the caller attached.
    pub metadata: Vec<(Bytes, Bytes)>,
}

impl RequestHead {
    pub(crate) fn new(open: &Open<'_>, endpoint: EndpointId, now: Instant) -> Self {
        Self {
            id: open.request_id,
            endpoint,
            deadline: open.deadline.map(|left| now + left),
            priority: open.priority,
            trace: open.trace,
            metadata: owned_pairs(open.metadata),
        }
    }

    /// The first value of `key`.
    pub fn metadata(&self, key: &[u8]) -> Option<&Bytes> {
        self.metadata
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value)
    }
}

fn owned_pairs(metadata: Metadata<'_>) -> Vec<(Bytes, Bytes)> {
    let own = |(key, value)| (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
    metadata.iter().map(own).collect()
}

/// The caller's wish to stop, as the handler may look at it or wait for it. Any thread.
#[derive(Clone, Debug)]
pub struct Context {
    cell: Arc<StreamCell>,
}

impl Context {
    pub(crate) const fn new(cell: Arc<StreamCell>) -> Self {
        Self { cell }
    }

    /// The caller asked to finish early (or dropped the stream). One load.
    pub fn is_stopped(&self) -> bool {
        self.cell.is_stopped()
    }

    /// The caller dropped the stream. One load.
    pub fn is_killed(&self) -> bool {
        self.cell.is_killed()
    }

    /// Completes when the caller asks to finish early or drops the stream.
    pub fn stopped(&self) -> Cancelled {
        Cancelled {
            cell: Arc::clone(&self.cell),
            kill_only: false,
            key: WaitKey::default(),
        }
    }

    /// Completes when the caller drops the stream.
    pub fn killed(&self) -> Cancelled {
        Cancelled {
            cell: Arc::clone(&self.cell),
            kill_only: true,
            key: WaitKey::default(),
        }
    }
}

/// Completes at a cancel; made by [`Context::stopped`] and [`Context::killed`]. Cancel-safe.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Cancelled {
    cell: Arc<StreamCell>,
    kill_only: bool,
    key: WaitKey,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Self {
            cell,
            kill_only,
            key,
        } = self.get_mut();
        cell.poll_flags(key, cx, |cell| match kill_only {
            true => cell.is_killed(),
            false => cell.is_stopped(),
        })
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.cell.forget_canceller(&mut self.key);
    }
}
