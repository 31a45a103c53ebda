//! The serving side of a process.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use ringmain_codec::{Config, EndpointId, InstanceId, Limits, Status};
use ringmain_reactor::{Address, ListenOptions};
use ringmain_shard::{Inbox, LinkAcceptor, LinkRole, Listening, ShardCtx, ShardHandle, ShardSet};

use crate::admission::Admission;
use crate::config::ServerConfig;
use crate::drain::{DrainOutcome, Drained};
use crate::error::ServeError;
use crate::role::ServerLink;
use crate::service::{LocalHandler, LocalService, Service};
use crate::shard_state::{Queues, ServerShard, ServerShared};

static SERVERS: AtomicU64 = AtomicU64::new(0);

/// Serves endpoints of one instance on a shard set.
///
/// ```
/// use std::sync::Arc;
/// use ringmain_reactor::{Address, ListenOptions};
/// use ringmain_server::{LocalInput, LocalSink, Request, Server, ServerConfig};
/// use ringmain_shard::{ShardSet, ShardSetConfig};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let shards = Arc::new(ShardSet::start(&ShardSetConfig::default())?);
/// // A process draws its id at random when it starts.
/// let instance = ringmain_codec::InstanceId::new(0x5eed).ok_or("an id is not 0")?;
/// let server = Server::new(shards, instance, ServerConfig::default());
/// server.serve_local("prod.worker.echo".parse()?, |_shard| {
///     |request: Request<LocalInput>, mut sink: LocalSink| async move {
///         sink.send(&request.data).await?;
///         Ok(())
///     }
/// })?;
/// let address = server.listen(&"127.0.0.1:0".parse::<Address>()?, &ListenOptions::default())?;
/// println!("listening on {address}");
/// # Ok(())
/// # }
/// ```
///
/// It starts no thread: accepted connections become links on the shards, which call the handlers.
/// Several servers may share one set. Methods may be called from any thread but the shards'.
pub struct Server {
    shards: Arc<ShardSet>,
    shared: Arc<ServerShared>,
    served: Mutex<HashSet<EndpointId>>,
}

impl Server {
    /// A server without endpoints or listeners.
    pub fn new(shards: Arc<ShardSet>, instance: InstanceId, config: ServerConfig) -> Self {
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let queues = Queues::new(number, Arc::clone(shards.handles()));
        let freed = Arc::clone(&queues);
        let link = link_config(&config, instance);
        tracing::info!(?config, ?link, "server.limits");
        let admission = Admission::new(
            config.concurrency_max,
            config.queue_max,
            Arc::clone(shards.telemetry()),
            move || freed.slot_freed(),
        );
        let shared = Arc::new(ServerShared {
            config,
            instance,
            admission,
            queues,
        });
        Self {
            shards,
            shared,
            served: Mutex::default(),
        }
    }

    /// The instance that this server is.
    pub fn instance(&self) -> InstanceId {
        self.shared.instance
    }

    /// The shards that this server runs on.
    pub const fn shards(&self) -> &Arc<ShardSet> {
        &self.shards
    }

    /// Serves `endpoint` with one handler per shard, made there by `factory`.
    ///
    /// # Errors
    ///
    /// The endpoint is served already, or the shards have stopped.
    pub fn serve_local<H, F>(&self, endpoint: EndpointId, factory: F) -> Result<(), ServeError>
    where
        H: LocalHandler,
        F: Fn(&ShardCtx) -> H + Send + Sync + 'static,
    {
        self.install(endpoint, move |ctx| {
            Rc::new(LocalService::new(factory(ctx)))
        })
    }

    /// Serves `endpoint` with a handler whose futures run on `runtime`.
    ///
    /// # Errors
    ///
    /// The endpoint is served already, or the shards have stopped.
    #[cfg(feature = "tokio")]
    pub fn serve(
        &self,
        endpoint: EndpointId,
        handler: impl crate::service::Handler,
        runtime: tokio::runtime::Handle,
    ) -> Result<(), ServeError> {
        let handler = Arc::new(handler);
        self.install(endpoint, move |_| {
            let handler = Arc::clone(&handler);
            Rc::new(crate::service::RemoteService::new(handler, runtime.clone()))
        })
    }

    fn install(
        &self,
        endpoint: EndpointId,
        make: impl Fn(&ShardCtx) -> Rc<dyn Service> + Send + Sync + 'static,
    ) -> Result<(), ServeError> {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if !served.insert(endpoint.clone()) {
            return Err(ServeError::Duplicate(endpoint));
        }
        let make = Arc::new(make);
        self.on_every_shard(|| {
            let (shared, make) = (Arc::clone(&self.shared), Arc::clone(&make));
            let endpoint = endpoint.clone();
            Box::new(move |ctx: &ShardCtx| {
                ServerShard::on(ctx, &shared).serve(endpoint, make(ctx));
            })
        })
    }

    /// Stops serving one endpoint: new requests for it are refused, running ones go on.
    ///
    /// # Errors
    ///
    /// The shards have stopped.
    pub fn withdraw(&self, endpoint: &EndpointId) -> Result<(), ServeError> {
        self.served
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(endpoint);
        self.on_every_shard(|| {
            let (shared, endpoint) = (Arc::clone(&self.shared), endpoint.clone());
            Box::new(move |ctx: &ShardCtx| ServerShard::on(ctx, &shared).withdraw(&endpoint))
        })
    }

    /// Runs something on each shard and waits until it has: the next connection sees it. Shards
    /// that are turned by hand take it in their next turn, before any connection made after now.
    fn on_every_shard(
        &self,
        make: impl Fn() -> Box<dyn FnOnce(&ShardCtx) + Send>,
    ) -> Result<(), ServeError> {
        for handle in self.shards.handles().iter() {
            let (done, wait) = std::sync::mpsc::sync_channel(1);
            let work = make();
            post(handle, move |ctx| {
                work(ctx);
                // The caller may have given up waiting.
                let _abandoned = done.try_send(()).is_err();
            })?;
            if !self.shards.is_manual() {
                wait.recv().map_err(|_| ServeError::Stopped)?;
            }
        }
        Ok(())
    }

    /// Listens on `address`; returns the address really bound. May be called for several.
    ///
    /// # Errors
    ///
    /// The operating system's error of bind or listen.
    pub fn listen(&self, address: &Address, options: &ListenOptions) -> io::Result<Address> {
        let acceptor = Arc::new(Acceptor {
            shared: Arc::clone(&self.shared),
        });
        self.shards.listen(address, options, acceptor)
    }

    /// As [`listen`](Self::listen), without waiting: for shards that are turned by hand.
    ///
    /// # Errors
    ///
    /// The shard has stopped or its mailbox is full.
    pub fn begin_listen(
        &self,
        address: &Address,
        options: &ListenOptions,
    ) -> io::Result<Listening> {
        let acceptor = Arc::new(Acceptor {
            shared: Arc::clone(&self.shared),
        });
        self.shards.begin_listen(address, options, acceptor)
    }

    /// Requests that are arriving, waiting or running now.
    pub fn in_flight(&self) -> usize {
        self.shared.admission.in_flight()
    }

    /// Requests whose handler is running now.
    pub fn running(&self) -> usize {
        self.shared.admission.running()
    }

    /// Requests that wait for a handler slot now.
    pub fn waiting(&self) -> usize {
        self.shared.admission.waiting()
    }

    /// Starts to drain: new requests are refused as `draining`, every connection hears GOAWAY,
    /// running and waiting requests go on. Idempotent.
    pub fn start_drain(&self) {
        self.shared.admission.set_draining();
        for handle in self.shards.handles().iter() {
            let work = Box::new(move |ctx: &ShardCtx| {
                ctx.for_each_link(|link, role| {
                    if role.as_any().is::<ServerLink>() {
                        link.goaway(Status::Draining, "draining");
                        link.mark_urgent();
                    }
                });
            });
            // A stopped shard has said goodbye already.
            drop(handle.run_assured(work));
        }
    }

    /// Completes when no request is left.
    pub fn drained(&self) -> Drained {
        Drained::new(Arc::clone(&self.shared.admission))
    }

    /// Drains: starts to, and waits until no request is left or `within` has passed. Blocks.
    pub fn drain(&self, within: Duration) -> DrainOutcome {
        self.start_drain();
        let mut drained = std::pin::pin!(self.drained());
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut cx = Context::from_waker(&waker);
        let deadline = Instant::now() + within;
        loop {
            if drained.as_mut().poll(&mut cx) == Poll::Ready(()) {
                return DrainOutcome::Clean;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return DrainOutcome::Forced {
                    requests: self.in_flight(),
                };
            }
            std::thread::park_timeout(left);
        }
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn post(
    handle: &ShardHandle,
    work: impl FnOnce(&ShardCtx) + Send + 'static,
) -> Result<(), ServeError> {
    let mut work: Box<dyn ringmain_shard::ShardWork> = Box::new(work);
    while let Err(back) = handle.run(work) {
        if handle.is_stopped() {
            return Err(ServeError::Stopped);
        }
        work = back;
        std::thread::yield_now();
    }
    Ok(())
}

struct Acceptor {
    shared: Arc<ServerShared>,
}

impl LinkAcceptor for Acceptor {
    fn accept(&self, ctx: &ShardCtx, _peer: Option<&Address>) -> (Config, Box<dyn LinkRole>) {
        let shared = &self.shared;
        let role = ServerLink::new(ServerShard::on(ctx, shared));
        (link_config(&shared.config, shared.instance), Box::new(role))
    }
}

fn link_config(config: &ServerConfig, instance: InstanceId) -> Config {
    let ms = |interval: Duration| u32::try_from(interval.as_millis()).unwrap_or(u32::MAX);
    let mut link = Config::acceptor(instance);
    link.limits = Limits {
        message_bytes_max: config.message_bytes_max,
        streams_max: config.streams_per_link_max,
        stream_window: config.stream_window_bytes.max(Inbox::WINDOW_BYTES_MIN),
        connection_window: config.connection_window_bytes,
        keepalive_idle_ms: ms(config.keepalive.idle),
        keepalive_active_ms: ms(config.keepalive.active),
        ..link.limits
    };
    link.keepalive_misses_max = config.keepalive.misses_max;
    // What a sink lets in the link's own queue must take, whatever the one limit is set to.
    link.queue_bytes_max = link.queue_bytes_max.max(config.sink_bytes_max);
    link
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("instance", &self.shared.instance)
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}
