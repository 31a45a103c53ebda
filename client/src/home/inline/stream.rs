//! The consumer's end of a stream on an inline link.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::{InstanceId, SendError};
use ringmain_shard::{Payload, StreamCell};

use super::link::{LinkRef, LinkState};
use crate::calls::{StreamKey, Terminal};
use crate::home::batch::Batch;

/// Credit that a consumer keeps at most before it returns it between two looks.
const CREDIT: u32 = 16 * 1024;

/// Takes messages off the link, several per lock.
#[derive(Debug)]
pub(crate) struct InlineStream {
    link: LinkRef,
    key: StreamKey,
    instance: InstanceId,
    batch: Batch,
}

impl InlineStream {
    pub(super) fn new(link: LinkRef, key: StreamKey, instance: InstanceId) -> Self {
        Self {
            link,
            key,
            instance,
            batch: Batch::default(),
        }
    }

    pub(crate) const fn instance(&self) -> InstanceId {
        self.instance
    }

    /// The input's end of the same stream.
    pub(crate) fn sink(&self) -> InlineSink {
        InlineSink {
            link: self.link.clone(),
            key: self.key,
            cell: Arc::default(),
        }
    }

    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Result<Bytes, Terminal>> {
        if let Some(bytes) = self.batch.pop() {
            if self.batch.credit() >= CREDIT {
                let (key, took) = (self.key, self.batch.take_owed());
                self.link
                    .with(|LinkState { link, calls, .. }| calls.consumer_took(key, link, took));
            }
            return Poll::Ready(Ok(bytes));
        }
        let (key, batch) = (self.key, &mut self.batch);
        self.link.with(|LinkState { link, calls, .. }| {
            calls.consumer_took(key, link, batch.take_owed());
            let handed = calls.hand_over(key, &mut batch.inbox);
            match (batch.pop(), handed.end) {
                (Some(bytes), _) => Poll::Ready(Ok(bytes)),
                (None, Some(end)) => Poll::Ready(Err(end)),
                (None, None) => calls.poll_end(key, cx),
            }
        })
    }

    pub(crate) fn stop(&self) {
        let key = self.key;
        self.link
            .with(|LinkState { link, calls, .. }| calls.stop(key, link));
    }

    pub(crate) fn kill(&self) {
        let key = self.key;
        self.link
            .with(|LinkState { link, calls, .. }| calls.kill(key, link));
    }
}

impl Drop for InlineStream {
    fn drop(&mut self) {
        self.link.release(self.key);
    }
}

/// The producer's end of a streamed request.
#[derive(Debug)]
pub(crate) struct InlineSink {
    link: LinkRef,
    key: StreamKey,
    cell: Arc<StreamCell>,
}

impl InlineSink {
    pub(crate) const fn cell(&self) -> &Arc<StreamCell> {
        &self.cell
    }

    /// Queues a message that was let into the queue by the cell.
    pub(crate) fn send(&self, message: Bytes) -> Result<(), SendError> {
        let payload = Payload::from(message).metered(Arc::clone(&self.cell));
        let key = self.key;
        self.link
            .with(|LinkState { link, calls, .. }| calls.send(key, link, payload))
    }

    pub(crate) fn finish(&self) {
        let key = self.key;
        self.link
            .with(|LinkState { link, calls, .. }| calls.finish(key, link));
    }
}
