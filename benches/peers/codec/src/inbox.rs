//! Where the reading task leaves the items of a stream.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Shared by the reading task and the stream's consumer.
#[derive(Debug, Default)]
pub(crate) struct Inbox(pub(crate) Mutex<Arrived>);

/// What has arrived and was not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    batch: Batch,
    credit: u32,
    /// How the stream ended, behind the batch.
    pub(crate) outcome: Option<Result<(), String>>,
    consumer: Option<Waker>,
}

/// Items one behind the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    next: usize,
}

impl Inbox {
    /// Adds bytes of an item.
    pub(crate) fn push(&self, piece: &[u8], message_end: bool, credit: u32) {
        let mut arrived = lock(&self.0);
        let Batch { bytes, ends, .. } = &mut arrived.batch;
        bytes.extend_from_slice(piece);
        if message_end {
            ends.push(bytes.len());
        }
        arrived.credit += credit;
        arrived.wake();
    }

    /// Nothing more comes.
    pub(crate) fn end(&self, outcome: Result<(), String>) {
        let mut arrived = lock(&self.0);
        arrived.outcome = Some(outcome);
        arrived.wake();
    }
}

impl Arrived {
    /// Gives the items that have arrived for `taken`, which is used up; returns the credit of all
    /// bytes that have.
    pub(crate) fn swap(&mut self, taken: &mut Batch) -> u32 {
        let credit = std::mem::take(&mut self.credit);
        taken.bytes.clear();
        taken.ends.clear();
        taken.next = 0;
        if let Some(&whole) = self.batch.ends.last() {
            std::mem::swap(&mut self.batch, taken);
            // The start of an item whose end has not arrived stays here.
            self.batch.bytes.extend_from_slice(&taken.bytes[whole..]);
        }
        credit
    }

    pub(crate) fn wait(&mut self, consumer: &Waker) {
        if !self
            .consumer
            .as_ref()
            .is_some_and(|old| old.will_wake(consumer))
        {
            self.consumer = Some(consumer.clone());
        }
    }

    fn wake(&mut self) {
        self.consumer.take().into_iter().for_each(Waker::wake);
    }
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.ends.len()
    }

    /// The next item.
    pub(crate) fn next(&mut self) -> Option<&[u8]> {
        let end = *self.ends.get(self.next)?;
        let start = match self.next {
            0 => 0,
            next => self.ends[next - 1],
        };
        self.next += 1;
        self.bytes.get(start..end)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
