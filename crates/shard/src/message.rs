//! What other threads may ask of a shard.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use ringmain_reactor::{Address, ListenOptions};

use crate::ctx::ShardCtx;
use crate::roles::LinkAcceptor;

/// Work that runs once on a shard's thread, in the shard's turn.
pub trait ShardWork: Send {
    /// Runs on the shard; must not block.
    fn run(self: Box<Self>, ctx: &ShardCtx);
}

impl<F: FnOnce(&ShardCtx) + Send> ShardWork for F {
    fn run(self: Box<Self>, ctx: &ShardCtx) {
        self(ctx);
    }
}

/// A repeated signal to a shard about one shared object; no allocation per signal.
pub trait ShardSignal: Send + Sync {
    /// Runs on the shard; must not block.
    fn signalled(self: Arc<Self>, ctx: &ShardCtx);
}

/// One item of a shard's mailbox.
pub(crate) enum ShardMessage {
    Adopt {
        fd: OwnedFd,
        peer: Option<Address>,
        acceptor: Arc<dyn LinkAcceptor>,
    },
    Listen(Box<ListenRequest>),
    Unlisten,
    Work(Box<dyn ShardWork>),
    Signal(Arc<dyn ShardSignal>),
    Stop {
        within: Duration,
    },
}

/// A listener to open, and where to answer.
pub(crate) struct ListenRequest {
    pub(crate) address: Address,
    pub(crate) options: ListenOptions,
    pub(crate) acceptor: Arc<dyn LinkAcceptor>,
    pub(crate) reply: SyncSender<std::io::Result<Address>>,
}
