//! Handlers that run as tasks on the stream's own shard.

use std::fmt;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_shard::ShardCtx;

use super::finish::Finish;
use super::{Running, Service, Start, Started};
use crate::error::HandlerError;
use crate::request::Request;
use crate::role::{Outcome, with_server_link};
use crate::sink::{LocalSink, StreamKey};

/// Answers requests on the shard that received them.
///
/// Made once per shard, so it may hold what is not `Send`. Its futures must not block: the shard
/// does nothing else meanwhile. A killed stream's future is dropped at its next `await`.
pub trait LocalHandler: 'static {
    /// Answers one request; the stream ends when the future does.
    fn call(
        &self,
        request: Request<LocalInput>,
        sink: LocalSink,
    ) -> impl Future<Output = Result<(), HandlerError>> + 'static;

    /// Whether the caller is told that its request was taken only when the handler calls
    /// [`LocalSink::accept`] or sends something, and not when the handler is called. For handlers
    /// that pass requests on: until somebody has taken one, it has not started.
    fn accepts_late(&self) -> bool {
        false
    }
}

impl<F, Fut> LocalHandler for F
where
    F: Fn(Request<LocalInput>, LocalSink) -> Fut + 'static,
    Fut: Future<Output = Result<(), HandlerError>> + 'static,
{
    fn call(
        &self,
        request: Request<LocalInput>,
        sink: LocalSink,
    ) -> impl Future<Output = Result<(), HandlerError>> + 'static {
        self(request, sink)
    }
}

/// Further messages of a request, for a handler on the shard.
pub struct LocalInput {
    ctx: ShardCtx,
    key: StreamKey,
}

impl LocalInput {
    /// The next message; `None` when the caller has ended its input or the stream is gone.
    /// Cancel-safe. Taking a message returns its credit to the caller.
    pub async fn next(&mut self) -> Option<Bytes> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// [`next`](Self::next) for hand-written futures.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Self { ctx, key } = self;
        let polled = with_server_link(ctx, *key, |link, role| {
            role.poll_input(link, key.stream, cx)
        });
        polled.unwrap_or(Poll::Ready(None))
    }
}

impl fmt::Debug for LocalInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalInput")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A local handler behind the common face.
pub(crate) struct LocalService<H>(Rc<H>);

impl<H> LocalService<H> {
    pub(crate) fn new(handler: H) -> Self {
        Self(Rc::new(handler))
    }
}

impl<H: LocalHandler> Service for LocalService<H> {
    fn accepts_late(&self) -> bool {
        self.0.accepts_late()
    }

    fn start(&self, start: Start<'_>) -> Started {
        let Start {
            ctx,
            key,
            head,
            data,
            context,
            cell,
            permit,
            sink_bytes_max,
        } = start;
        let input = LocalInput {
            ctx: ctx.clone(),
            key,
        };
        let request = Request {
            head,
            data,
            input,
            context,
        };
        let priority = request.head.priority;
        let sink = LocalSink::new(ctx.clone(), key, cell, sink_bytes_max, priority);
        let finish = Finish::new(ctx.clone(), key, permit);
        let handler = Rc::clone(&self.0);
        let task = ctx.spawn(async move {
            // The handler itself is called inside the task, so that its panic is the task's.
            let outcome = match handler.call(request, sink).await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Failed(error),
            };
            finish.done(&outcome);
        });
        Started {
            running: Running::Here(task),
            input: None,
        }
    }
}
