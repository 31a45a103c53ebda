//! Handlers behind one face, so that dispatch knows one kind.

mod finish;
mod local;
#[cfg(feature = "tokio")]
mod remote;

#[cfg(feature = "tokio")]
use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use ringmain_reactor::exec::Task;
use ringmain_shard::{ShardCtx, SharedInbox, StreamCell};

use crate::admission::Permit;
use crate::request::{Context, RequestHead};
use crate::sink::StreamKey;

pub(crate) use self::local::LocalService;
pub use self::local::{LocalHandler, LocalInput};
#[cfg(feature = "tokio")]
pub(crate) use self::remote::RemoteService;
#[cfg(feature = "tokio")]
pub use self::remote::{Handler, Input};

/// One endpoint's handler on one shard.
pub(crate) trait Service {
    /// Whether the handler itself says when the request is taken.
    fn accepts_late(&self) -> bool {
        false
    }

    /// Calls the handler; must not block.
    fn start(&self, start: Start<'_>) -> Started;
}

/// What a handler is started with.
pub(crate) struct Start<'a> {
    pub(crate) ctx: &'a ShardCtx,
    pub(crate) key: StreamKey,
    pub(crate) head: RequestHead,
    pub(crate) data: Bytes,
    pub(crate) context: Context,
    pub(crate) cell: Arc<StreamCell>,
    pub(crate) permit: Permit,
    pub(crate) sink_bytes_max: usize,
}

/// A handler that has been called.
pub(crate) struct Started {
    pub(crate) running: Running,
    /// Where further input goes if the handler is not on the shard.
    pub(crate) input: Option<Arc<SharedInbox>>,
}

/// Keeps a handler running; dropping it drops the handler.
pub(crate) enum Running {
    /// A task of the shard.
    Here(#[expect(dead_code, reason = "dropping it is its use")] Task<()>),
    /// Whatever keeps a handler elsewhere alive.
    #[cfg(feature = "tokio")]
    Elsewhere(#[expect(dead_code, reason = "dropping it is its use")] Box<dyn Any>),
}
