//! Handlers that run on a tokio runtime.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;

use bytes::Bytes;
use ringmain_codec::Status;
use ringmain_shard::{ShardCtx, ShardHandle, SharedInbox, StreamCell};
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
        let sink = Sink::new(shard.clone(), key, Arc::clone(&cell), sink_bytes_max);
        let mut finish = Finish {
            shard,
            key,
            cell,
            drain: Some(sink.drain()),
            permit: Some(permit),
        };
        let handler = Arc::clone(&self.handler);
        let task = self.runtime.spawn(async move {
            let outcome = match handler.call(request, sink).await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Failed(error),
            };
            finish.end(outcome);
        });
        Started {
            running: Running::Elsewhere(Box::new(AbortOnDrop(task))),
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
///
/// Dropped without an end, because the handler panicked or its runtime was shut down, it ends the
/// stream as well. It may then be on any thread, the shard's own included, so nothing here waits.
struct Finish {
    shard: ShardHandle,
    key: StreamKey,
    cell: Arc<StreamCell>,
    drain: Option<SinkDrain>,
    permit: Option<Permit>,
}

impl Finish {
    fn end(&mut self, outcome: Outcome) {
        let Some(drain) = self.drain.take() else {
            return;
        };
        let (key, permit) = (self.key, self.permit.take());
        let work = move |ctx: &ShardCtx| {
            drain.run(ctx);
            with_server_link(ctx, key, |link, role| {
                role.handler_ended(ctx, link, key.stream, &outcome);
            });
            drop(permit);
        };
        // A shard that has stopped has ended its streams. Bounded by the handlers that run.
        drop(self.shard.run_assured(Box::new(work)));
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        if self.cell.is_killed() {
            // Whoever dropped the handler has ended the stream.
            return;
        }
        self.end(if std::thread::panicking() {
            Outcome::Panicked
        } else {
            Outcome::Failed(HandlerError {
                status: Status::Internal,
                message: "the handler's runtime has shut down".to_owned(),
            })
        });
    }
}
