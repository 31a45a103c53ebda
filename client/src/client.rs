//! The client: one front for both homes.

use std::sync::Arc;

use ringmain_codec::EndpointId;
use ringmain_shard::{ShardCtx, ShardSet};
#[cfg(feature = "inline")]
use ringmain_telemetry::Telemetry;

use crate::call::Call;
use crate::config::ClientConfig;
use crate::error::CallError;
#[cfg(feature = "inline")]
use crate::home::inline::{Connect, InlineHome, Sockets, runtime};
use crate::home::shards::ShardsHome;
use crate::local::LocalClient;
use crate::response::{RequestSink, ResponseStream, Source};
use crate::source::{SnapshotSource, Watches};

/// Where a client's links live.
#[non_exhaustive]
pub enum Home {
    /// On the pinned threads of a set. The client does not keep the set alive.
    Shards(Arc<ShardSet>),
    /// Inside the tokio runtime that each call is made in; for programs that have one.
    #[cfg(feature = "inline")]
    Inline,
    /// As `Inline`, over transports of the caller's own.
    #[cfg(feature = "inline")]
    InlineOver(Arc<dyn Connect>),
}

/// Calls endpoints. Any thread, any number of clones; clones share links.
///
/// ```no_run
/// use std::sync::Arc;
/// use ringmain_client::{Call, Client, Home};
/// use ringmain_discovery::Discovery;
/// use ringmain_telemetry::Telemetry;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let discovery = Discovery::open("file:registry".parse()?, Telemetry::new(0))?;
/// let client = Client::builder(Arc::new(discovery), Home::Inline).build();
/// let endpoint = "prod.worker.generate".parse()?;
/// let mut answer = client.call(&endpoint, Call::new("hello")).await?;
/// while let Some(token) = answer.next().await {
///     print!("{}", String::from_utf8_lossy(&token?));
/// }
/// # Ok(())
/// # }
/// ```
///
/// When the last clone is dropped, links without open streams say goodbye and close at once, the
/// others when their last stream has ended.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    place: Place,
    config: Arc<ClientConfig>,
}

enum Place {
    Shards(Arc<ShardsHome>),
    #[cfg(feature = "inline")]
    Inline(Arc<InlineHome>),
}

/// Builds a [`Client`].
pub struct ClientBuilder {
    source: Arc<dyn SnapshotSource>,
    home: Home,
    config: ClientConfig,
    #[cfg(feature = "inline")]
    telemetry: Option<Arc<Telemetry>>,
}

impl Client {
    /// Starts to build a client that learns from `source` who serves what, with its links in
    /// `home`.
    pub fn builder(source: Arc<dyn SnapshotSource>, home: Home) -> ClientBuilder {
        ClientBuilder {
            source,
            home,
            config: ClientConfig::default(),
            #[cfg(feature = "inline")]
            telemetry: None,
        }
    }

    /// Calls an endpoint; completes when the responder takes the request (its handler was called,
    /// or it answered).
    ///
    /// A dial that fails, and a responder that turns the request away because it drains, cost an
    /// attempt: the next instance is asked, each at most once, within the deadline. Dropping the
    /// future drops the call. With an inline home it must be polled in a tokio runtime.
    ///
    /// # Errors
    ///
    /// Nobody took the request; the error says why and whether a handler may have started.
    pub async fn call(
        &self,
        endpoint: &EndpointId,
        call: Call,
    ) -> Result<ResponseStream, CallError> {
        self.open(endpoint, call, false).await
    }

    /// As [`call`](Self::call), for a request of several messages. The call's data, unless empty,
    /// is the first; the sink sends the others.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn call_streaming(
        &self,
        endpoint: &EndpointId,
        call: Call,
    ) -> Result<(RequestSink, ResponseStream), CallError> {
        let stream = self.open(endpoint, call, true).await?;
        Ok((stream.sink(self.inner.config.queue_bytes_max), stream))
    }

    /// This client for the tasks of one shard; `None` unless its home are shards.
    pub fn local(&self, ctx: &ShardCtx) -> Option<LocalClient> {
        match &self.inner.place {
            Place::Shards(home) => Some(LocalClient::new(
                ctx,
                Arc::clone(home),
                self.inner.config.policy,
            )),
            #[cfg(feature = "inline")]
            Place::Inline(_) => None,
        }
    }

    async fn open(
        &self,
        endpoint: &EndpointId,
        call: Call,
        streaming: bool,
    ) -> Result<ResponseStream, CallError> {
        let policy = self.inner.config.policy;
        match &self.inner.place {
            Place::Shards(home) => {
                let request = call.prepare(endpoint, home.now(), streaming, policy)?;
                let id = request.request_id;
                let stream = home.call(Arc::new(request)).await?;
                Ok(ResponseStream::new(Source::Shard(stream), id))
            }
            #[cfg(feature = "inline")]
            Place::Inline(home) => {
                if runtime().is_none() {
                    let message = "an inline client is called inside a tokio runtime".to_owned();
                    return Err(CallError::Invalid { message });
                }
                let request = call.prepare(endpoint, home.now(), streaming, policy)?;
                let id = request.request_id;
                let stream = Arc::clone(home).call(Arc::new(request)).await?;
                Ok(ResponseStream::new(Source::Inline(stream), id))
            }
        }
    }
}

impl ClientBuilder {
    /// Replaces the default settings.
    #[must_use]
    pub fn config(mut self, config: ClientConfig) -> Self {
        self.config = config;
        self
    }

    /// Where an inline client counts; one of its own if not given. Shards have theirs.
    #[cfg(feature = "inline")]
    #[must_use]
    pub fn telemetry(mut self, telemetry: Arc<Telemetry>) -> Self {
        self.telemetry = Some(telemetry);
        self
    }

    /// The client. Nothing is dialed before the first call.
    #[must_use]
    pub fn build(self) -> Client {
        let watches = Arc::new(Watches::new(self.source));
        let config = Arc::new(self.config);
        let link = config.connection(None);
        tracing::info!(?config, ?link, "client.limits");
        #[cfg(feature = "inline")]
        let inline = |connect: Arc<dyn Connect>| {
            let telemetry = self.telemetry.clone().unwrap_or_else(|| Telemetry::new(0));
            InlineHome::new(
                Arc::clone(&watches),
                Arc::clone(&config),
                connect,
                telemetry,
            )
        };
        let place = match self.home {
            Home::Shards(set) => {
                let home = ShardsHome::new(&set, Arc::clone(&watches), Arc::clone(&config));
                Place::Shards(Arc::new(home))
            }
            #[cfg(feature = "inline")]
            Home::Inline => Place::Inline(inline(Arc::new(Sockets(config.socket.clone())))),
            #[cfg(feature = "inline")]
            Home::InlineOver(connect) => Place::Inline(inline(connect)),
        };
        Client {
            inner: Arc::new(Inner { place, config }),
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let home = match &self.inner.place {
            Place::Shards(_) => "shards",
            #[cfg(feature = "inline")]
            Place::Inline(_) => "inline",
        };
        f.debug_struct("Client")
            .field("home", &home)
            .finish_non_exhaustive()
    }
}
