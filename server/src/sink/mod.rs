//! Where a handler's tokens go.

mod local;
mod remote;

use std::sync::Arc;

use ringmain_codec::{SendError, StreamHandle, TrySend};
use ringmain_shard::{Link, LinkKey, Payload, StreamCell};

pub use self::local::LocalSink;
pub use self::remote::Sink;
#[cfg(feature = "tokio")]
pub(crate) use self::remote::SinkDrain;
use crate::error::SinkError;

/// Names one response stream: link and stream on a shard. A late use never reaches a later
/// stream, since both parts carry the generation of their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamKey {
    pub(crate) link: LinkKey,
    pub(crate) stream: StreamHandle,
}

/// Writes a message that was entered in its cell: straight into the out-buffer if possible, else
/// into the stream's queue, from where it leaves as credit comes back.
pub(crate) fn deliver(
    link: &mut Link,
    stream: StreamHandle,
    cell: &Arc<StreamCell>,
    message: &[u8],
) -> Result<(), SinkError> {
    let outcome = match link.try_send(stream, message) {
        Ok(TrySend::Written) => Ok(()),
        Ok(_) => {
            // From here on the payload takes its bytes off the cell, on every exit.
            let payload = Payload::copied(message).metered(Arc::clone(cell));
            return link.send(stream, payload).map_err(sink_error);
        }
        Err(error) => Err(sink_error(error)),
    };
    cell.left_queue(message.len());
    outcome
}

pub(crate) fn sink_error(error: SendError) -> SinkError {
    match error {
        SendError::TooLarge { .. } => SinkError::TooLarge,
        _ => SinkError::Closed,
    }
}

/// What the producer is told before its message is looked at.
pub(crate) fn refusal(cell: &StreamCell) -> Option<SinkError> {
    let flags = cell.flags();
    if flags.killed {
        Some(SinkError::Killed)
    } else if flags.closed {
        Some(SinkError::Closed)
    } else {
        None
    }
}
