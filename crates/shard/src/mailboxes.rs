//! How other threads reach a shard.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crossbeam_utils::CachePadded;
use ringmain_reactor::mailbox::Sender;

use crate::message::{ShardMessage, ShardSignal, ShardWork};

/// Address of one shard for any thread. Cheap to clone.
#[derive(Clone)]
pub struct ShardHandle {
    index: usize,
    sender: Sender<ShardMessage>,
    links: Arc<CachePadded<AtomicUsize>>,
}

impl ShardHandle {
    pub(crate) fn new(index: usize, sender: Sender<ShardMessage>) -> Self {
        Self {
            index,
            sender,
            links: Arc::default(),
        }
    }

    /// The shard's index in its set.
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Runs `work` on the shard in its next turn. Never blocks.
    ///
    /// # Errors
    ///
    /// The mailbox is full or the shard has stopped; the work comes back.
    pub fn run(&self, work: Box<dyn ShardWork>) -> Result<(), Box<dyn ShardWork>> {
        match self.post(ShardMessage::Work(work)) {
            Err(ShardMessage::Work(work)) => Err(work),
            _ => Ok(()),
        }
    }

    /// Signals a shared object to the shard. Never blocks, never allocates.
    ///
    /// # Errors
    ///
    /// The mailbox is full or the shard has stopped; the object comes back.
    pub fn signal(&self, signal: Arc<dyn ShardSignal>) -> Result<(), Arc<dyn ShardSignal>> {
        match self.post(ShardMessage::Signal(signal)) {
            Err(ShardMessage::Signal(signal)) => Err(signal),
            _ => Ok(()),
        }
    }

    /// Whether the shard has ended; it takes nothing any more.
    pub fn is_stopped(&self) -> bool {
        self.sender.is_closed()
    }

    /// Links that this shard owns or was just given.
    pub(crate) fn links(&self) -> &AtomicUsize {
        &self.links
    }

    /// Links that this shard owns, for whoever chooses a shard.
    pub fn links_open(&self) -> usize {
        self.links.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn post(&self, message: ShardMessage) -> Result<(), ShardMessage> {
        self.sender
            .try_send(message)
            .map_err(ringmain_reactor::mailbox::TrySendError::into_inner)
    }
}

impl std::fmt::Debug for ShardHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardHandle")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
