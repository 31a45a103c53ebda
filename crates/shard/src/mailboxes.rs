//! How other threads reach a shard.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crossbeam_utils::CachePadded;
use ringmain_reactor::mailbox::{Receiver, Sender, TrySendError};

use ringmain_telemetry::{Counter, Telemetry};

use crate::late::Late;
use crate::message::{ShardMessage, ShardSignal, ShardWork};

/// Address of one shard for any thread. Cheap to clone.
#[derive(Clone)]
pub struct ShardHandle {
    index: usize,
    sender: Sender<ShardMessage>,
    late: Arc<Late>,
    telemetry: Arc<Telemetry>,
    links: Arc<CachePadded<AtomicUsize>>,
}

impl ShardHandle {
    pub(crate) fn new(
        index: usize,
        sender: Sender<ShardMessage>,
        receiver: &Receiver<ShardMessage>,
        telemetry: Arc<Telemetry>,
    ) -> Self {
        Self {
            index,
            sender,
            telemetry,
            late: Arc::new(Late::new(receiver.doorbell().clone())),
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

    /// Runs `work` on the shard also when its mailbox is full: for an end, which must not be lost.
    /// Never blocks. Whoever calls bounds how often; everything else is for [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// The shard has stopped; the work comes back.
    pub fn run_assured(&self, work: Box<dyn ShardWork>) -> Result<(), Box<dyn ShardWork>> {
        match self.post_assured(ShardMessage::Work(work)) {
            Err(ShardMessage::Work(work)) => Err(work),
            _ => Ok(()),
        }
    }

    /// Signals a shared object to the shard, also when its mailbox is full. Never blocks; never
    /// allocates while the mailbox has room. An object must not signal again before it was seen.
    ///
    /// # Errors
    ///
    /// The shard has stopped; the object comes back.
    pub fn signal(&self, signal: Arc<dyn ShardSignal>) -> Result<(), Arc<dyn ShardSignal>> {
        match self.post_assured(ShardMessage::Signal(signal)) {
            Err(ShardMessage::Signal(signal)) => Err(signal),
            _ => Ok(()),
        }
    }

    /// Whether the shard has ended; it takes nothing any more.
    pub fn is_stopped(&self) -> bool {
        self.sender.is_closed()
    }

    /// Counts something that happened off the shard, for the process.
    pub fn count(&self, counter: Counter, n: u64) {
        self.telemetry.process().add(counter, n);
    }

    /// Links that this shard owns or was just given.
    pub(crate) fn links(&self) -> &AtomicUsize {
        &self.links
    }

    /// Links that this shard owns, for whoever chooses a shard.
    pub fn links_open(&self) -> usize {
        self.links.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn late(&self) -> &Late {
        &self.late
    }

    pub(crate) fn post(&self, message: ShardMessage) -> Result<(), ShardMessage> {
        self.sender
            .try_send(message)
            .map_err(TrySendError::into_inner)
    }

    /// As [`post`](Self::post), past a full mailbox as well.
    pub(crate) fn post_assured(&self, message: ShardMessage) -> Result<(), ShardMessage> {
        match self.sender.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(message)) => self.late.push(message),
            Err(error) => Err(error.into_inner()),
        }
    }
}

impl std::fmt::Debug for ShardHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardHandle")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
