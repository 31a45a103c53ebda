//! Handlers that run on a tokio runtime.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;

use bytes::Bytes;
use ringmain_shard::{ShardCtx, ShardHandle, SharedInbox};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::{Running, Service, Start, Started};
use crate::admission::Permit;
use crate::error::HandlerError;
use crate::request::Request;
use crate::role::{Outcome, with_server_link};
use crate::sink::{Sink, SinkDrain, StreamKey};

/// Answers requests on a tokio runtime; requests and tokens cross threads in batches.
///
/// A killed stream's future is dropped at its next `await`.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request; the stream ends when the future does.
    fn call(
        &self,
        request: Request<Input>,
        sink: Sink,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send + 'static;
}

impl<F, Fut> Handler for F
where
    F: Fn(Request<Input>, Sink) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
{
    fn call(
        &self,
        request: Request<Input>,
        sink: Sink,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send + 'static {
        self(request, sink)
    }
}

/// Further messages of a request, for a handler off the shard.
pub struct Input {
    inbox: Arc<SharedInbox>,
}

impl Input {
    /// The next message; `None` when the caller has ended its input or the stream is gone.
    /// Cancel-safe. Taking messages returns their credit to the caller.
    pub async fn next(&mut self) -> Option<Bytes> {
        poll_fn(|cx| self.inbox.poll_next(cx)).await
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

/// A handler and its runtime behind the common face.
pub(crate) struct RemoteService<H> {
    handler: Arc<H>,
    runtime: Handle,
}

impl<H> RemoteService<H> {
    pub(crate) const fn new(handler: Arc<H>, runtime: Handle) -> Self {
        Self { handler, runtime }
    }
}

impl<H: Handler> Service for RemoteService<H> {
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
        let shard = ctx.handles()[ctx.index()].clone();
        let inbox = Arc::new(SharedInbox::new(shard.clone(), key.link, key.stream));
        let request = Request {
            head,
            data,
            input: Input {
                inbox: Arc::clone(&inbox),
            },
            context,
        };
        let sink = Sink::new(shard.clone(), key, cell, sink_bytes_max);
        let mut finish = Finish {
            shard,
            key,
            drain: Some(sink.drain()),
            permit: Some(permit),
        };
        let handler = Arc::clone(&self.handler);
        let task = self.runtime.spawn(async move {
            let outcome = match handler.call(request, sink).await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Failed(error),
            };
            finish.end(outcome).await;
        });
        Started {
            running: Running::new(AbortOnDrop(task)),
            input: Some(inbox),
        }
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Ends a stream from the handler's thread: what the sink queued first, then the terminal.
struct Finish {
    shard: ShardHandle,
    key: StreamKey,
    drain: Option<SinkDrain>,
    permit: Option<Permit>,
}

impl Finish {
    async fn end(&mut self, outcome: Outcome) {
        let Some(mut work) = self.work(outcome) else {
            return;
        };
        // The terminal must not be lost to a full mailbox: wait for room.
        while let Err(back) = self.shard.run(work) {
            if self.shard.is_stopped() {
                return;
            }
            work = back;
            tokio::task::yield_now().await;
        }
    }

    fn work(&mut self, outcome: Outcome) -> Option<Box<dyn ringmain_shard::ShardWork>> {
        let drain = self.drain.take()?;
        let permit = self.permit.take();
        let key = self.key;
        Some(Box::new(move |ctx: &ShardCtx| {
            drain.run(ctx);
            with_server_link(ctx, key, |link, role| {
                role.handler_ended(ctx, link, key.stream, &outcome);
            });
            drop(permit);
        }))
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        if let Some(mut work) = self.work(Outcome::Panicked) {
            while let Err(back) = self.shard.run(work) {
                if self.shard.is_stopped() {
                    return;
                }
                work = back;
                std::thread::yield_now();
            }
        }
    }
}
