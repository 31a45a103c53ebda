//! Messages that a consumer took from its link in one look, and the credit it owes for them.

use std::collections::VecDeque;

use bytes::Bytes;
use ringmain_shard::Message;

/// Messages taken in one look, at most.
const MESSAGES_MAX: usize = 32;
/// Bytes after which no further message is taken in the same look.
const BYTES: usize = 32 * 1024;
/// Credit that a consumer keeps at most before it returns it in between.
const CREDIT: u32 = 16 * 1024;

/// Invariant: credit is owed for what was popped only.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    ready: VecDeque<Message>,
    bytes: usize,
    credit: u32,
}

impl Batch {
    pub(crate) fn has_room(&self) -> bool {
        self.ready.len() < MESSAGES_MAX && self.bytes < BYTES
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.bytes += message.bytes.len();
        self.ready.push_back(message);
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let message = self.ready.pop_front()?;
        self.bytes -= message.bytes.len();
        self.credit += message.credit;
        Some(message.bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    pub(crate) const fn credit(&self) -> u32 {
        self.credit
    }

    pub(crate) const fn is_credit_due(&self) -> bool {
        self.credit >= CREDIT
    }

    pub(crate) const fn take_credit(&mut self) -> u32 {
        std::mem::replace(&mut self.credit, 0)
    }
}
