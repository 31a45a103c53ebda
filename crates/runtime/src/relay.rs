//! Requests passed on from one link to another of the same shard.
//!
//! ```text
//!  upstream link                    shard                        downstream link
//!  receive buffer ─ codec ─> Calls ─ offer ─> Downstream ─ codec ─> out-buffer     1 copy
//!                              │ no credit, no room, or others ahead
//!                              └─> pieces aside ─ task ─> send queue ─> out-buffer  2 copies
//!  CREDIT <──────────────────────── once the bytes are in the out-buffer
//! ```
//!
//! The request is put together first, since a worker's handler is called with its first message
//! whole; further messages of a streamed request follow as they come. The response is never put
//! together: fragments are passed on as they arrive, and a frame that arrives in two halves leaves
//! as two fragments.
//!
//! What a token costs on the relay's shard. The crate's tests count the first two columns; wakes
//! are those of the stream's task, and a token's part in its turn's receives and sends is not
//! shown:
//!
//! | | copies of its bytes | allocations | wakes | syscalls |
//! |---|---|---|---|---|
//! | it leaves at once | 1 | 0 | 0 | 0 |
//! | it has to wait | 2 | about 3 in 64 KiB | at most 2 | 0 |
//!
//! A token has to wait when the caller has no credit or its link no room, which is also so when
//! more arrives in one turn than one out-buffer (64 KiB) holds.
//!
//! A caller that goes away, and a deadline that passes, drop the handler and with it the call, so
//! the worker hears KILL. STOP goes on as STOP. The worker's terminal comes back word for word,
//! and ACCEPT only once the worker has sent it, so that what is known of the start of the request
//! stays true over the hop.

mod downstream;
mod stream;

use std::future::{Future, poll_fn};
use std::rc::Rc;

use ringmain_client::{Client, LocalClient};
use ringmain_codec::{EndpointId, Status};
use ringmain_server::{HandlerError, LocalHandler, LocalInput, LocalSink, Request};
use ringmain_shard::ShardCtx;

use self::downstream::{Downstream, End};
use self::stream::RelayStream;

/// Answers each request with what another endpoint answers to it.
///
/// Id, remaining deadline, priority, trace and metadata of a request are kept. Dropped requests
/// and STOP reach the worker; its terminal reaches the caller with status, text, trailers, limit
/// and retry time as they were. A message over the limit of whoever it is meant for ends its own
/// stream as `too_large`, a request before it is sent.
///
/// Per stream it holds no more than the window of the call to the worker, whose credit comes back
/// as the caller's link takes the bytes.
///
/// ```no_run
/// # fn serve(server: &ringmain_server::Server, client: &ringmain_client::Client) {
/// use ringmain::Relay;
///
/// let endpoint = "prod.router.generate".parse().expect("an endpoint id");
/// let worker = "prod.worker.generate".parse().expect("an endpoint id");
/// let served = server.serve_local(endpoint, Relay::factory(client.clone(), worker));
/// # drop(served);
/// # }
/// ```
pub struct Relay {
    ctx: ShardCtx,
    /// Nothing for a client that lives elsewhere.
    client: Option<LocalClient>,
    target: EndpointId,
}

impl Relay {
    /// Makes the relay of each shard, for
    /// [`Server::serve_local`](ringmain_server::Server::serve_local).
    ///
    /// The client must have its links on the server's own shards
    /// ([`Home::Shards`](ringmain_client::Home::Shards)); else every request ends as `internal`,
    /// with that reason.
    pub fn factory(
        client: Client,
        target: EndpointId,
    ) -> impl Fn(&ShardCtx) -> Self + Send + Sync + 'static {
        move |ctx| Self {
            ctx: ctx.clone(),
            client: client.local(ctx),
            target: target.clone(),
        }
    }
}

impl LocalHandler for Relay {
    fn call(
        &self,
        request: Request<LocalInput>,
        sink: LocalSink,
    ) -> impl Future<Output = Result<(), HandlerError>> + 'static {
        let (ctx, client, target) = (self.ctx.clone(), self.client.clone(), self.target.clone());
        async move {
            let Some(client) = client else {
                return Err(HandlerError {
                    status: Status::Internal,
                    message: "the relay's client has no links on this shard".to_owned(),
                });
            };
            let down = Rc::new(Downstream::new(ctx, sink));
            let end = match RelayStream::start(&client, &target, request, Rc::clone(&down)) {
                Ok(mut stream) => poll_fn(|cx| stream.poll(cx)).await,
                Err(error) => End::Upstream(error.into()),
            };
            down.finish(end);
            Ok(())
        }
    }

    fn accepts_late(&self) -> bool {
        true
    }
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
