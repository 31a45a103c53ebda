//! Flushing by the application: once per turn of the scheduler.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use velo::WeakVelo;

/// A flush covers no items that wait for credit; without another one they would stay.
const FLUSH_AT_LEAST_EVERY: Duration = Duration::from_millis(10);

/// Tells the flushing task that something was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flusher(Option<Arc<Notify>>);

impl Flusher {
    /// Flushes by hand, for as long as the node lives.
    pub(crate) fn start(node: WeakVelo) -> Self {
        let sent = Arc::new(Notify::new());
        tokio::spawn(flush_all(node, Arc::clone(&sent)));
        Self(Some(sent))
    }

    /// Something was sent.
    pub(crate) fn sent(&self) {
        if let Some(sent) = &self.0 {
            sent.notify_one();
        }
    }
}

async fn flush_all(node: WeakVelo, sent: Arc<Notify>) {
    loop {
        // Either way there may be something to flush.
        tokio::time::timeout(FLUSH_AT_LEAST_EVERY, sent.notified())
            .await
            .ok();
        // All tasks that are ready now send before one flush.
        tokio::task::yield_now().await;
        let Some(node) = node.upgrade() else { return };
        node.flush_batch();
    }
}
