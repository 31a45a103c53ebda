//! Messages that a consumer took from its link in one look, and what it owes for them.

use bytes::Bytes;
use ringmain_shard::Inbox;

use crate::calls::Took;

/// A consumer's own inbox. It changes places with the link's, so that both are used again and
/// again and no message is copied or allocated for.
///
/// Invariant: what is owed is for popped messages only.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) inbox: Inbox,
    credit: u32,
    /// Long messages among those popped.
    reserved_bytes: usize,
}

impl Batch {
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let message = self.inbox.pop()?;
        self.credit += message.credit;
        if Inbox::needs_reservation(message.bytes.len()) {
            self.reserved_bytes += message.bytes.len();
        }
        Some(message.bytes)
    }

    /// Credit that is owed.
    pub(crate) const fn credit(&self) -> u32 {
        self.credit
    }

    /// Everything that is owed, once.
    pub(crate) fn take_owed(&mut self) -> Took {
        Took {
            credit: std::mem::take(&mut self.credit),
            reserved_bytes: std::mem::take(&mut self.reserved_bytes),
            all: self.inbox.ready() == 0,
        }
    }
}
