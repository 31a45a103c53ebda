//! Links on the pinned shards of a set.
//!
//! Each shard has its own pool and its own link to each instance it talks to. A call from another
//! thread goes to one shard, each in turn, as one item of its mailbox; its tokens come back in
//! batches: one lock and at most one wake per stream and received chunk.

mod host;
mod part;
mod resolve;
mod role;
mod shared;
mod stream;
mod work;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use ringmain_shard::{Clock, ShardHandle, ShardSet};

pub(crate) use self::host::{Delivery, LocalHost, LocalLink};
pub(crate) use self::part::ShardPart;
use self::shared::SharedStream;
pub(crate) use self::stream::{ShardSink, ShardStream};
use self::work::{CallWork, CloseWork, WaitForCall};
use crate::call::Request;
use crate::config::ClientConfig;
use crate::error::CallError;
use crate::source::Watches;

static CLIENTS: AtomicU64 = AtomicU64::new(1);

/// What a client's parts on the shards share.
pub(crate) struct HomeShared {
    /// Tells the parts of several clients on one shard apart.
    pub(crate) client: u64,
    pub(crate) watches: Arc<Watches>,
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) shards: usize,
}

/// The links of one client, spread over the shards.
pub(crate) struct ShardsHome {
    shared: Arc<HomeShared>,
    handles: Arc<[ShardHandle]>,
    next: AtomicUsize,
    clock: Clock,
    /// Whether the set still runs. Not kept alive from here: a client may be dropped on a shard.
    set: Weak<ShardSet>,
}

impl ShardsHome {
    pub(crate) fn new(
        set: &Arc<ShardSet>,
        watches: Arc<Watches>,
        config: Arc<ClientConfig>,
    ) -> Self {
        let handles = Arc::clone(set.handles());
        let shared = HomeShared {
            client: CLIENTS.fetch_add(1, Ordering::Relaxed),
            watches,
            config,
            shards: handles.len(),
        };
        Self {
            shared: Arc::new(shared),
            handles,
            next: AtomicUsize::new(0),
            clock: set.clock().clone(),
            set: Arc::downgrade(set),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<HomeShared> {
        &self.shared
    }

    /// Makes the call on one of the shards.
    pub(crate) async fn call(&self, request: Arc<Request>) -> Result<ShardStream, CallError> {
        let watches = &self.shared.watches;
        if !watches.is_known(&request.endpoint) {
            // Asked here: a registry may look at files, which no shard should wait for.
            let watched = watches.watch(&request.endpoint).await;
            watches.keep(&request.endpoint, watched)?;
        }
        let credit_step = self.shared.config.credit_step();
        let mut first = self.next.fetch_add(1, Ordering::Relaxed);
        for _ in 0..self.handles.len() {
            let handle = &self.handles[first % self.handles.len()];
            let shared = SharedStream::new(
                handle.clone(),
                Arc::clone(&self.shared),
                request.streaming,
                credit_step,
            );
            let work = CallWork::new(Arc::clone(&request), Arc::clone(&shared));
            // A full mailbox counts itself.
            if handle.run(Box::new(work)).is_ok() {
                return WaitForCall::new(shared).await;
            }
            first = first.wrapping_add(1);
        }
        if self.set.strong_count() == 0 {
            return Err(CallError::Closed);
        }
        Err(CallError::Overloaded {
            limit: "mailbox_max",
        })
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }
}

impl Drop for ShardsHome {
    fn drop(&mut self) {
        for handle in self.handles.iter() {
            // A shard that has stopped has closed its links.
            drop(handle.run_assured(Box::new(CloseWork {
                client: self.shared.client,
            })));
        }
    }
}

#[cfg(test)]
mod tests;
