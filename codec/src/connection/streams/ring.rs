//! A queue of slots in which each slot stands at most once.

use std::collections::VecDeque;

const LISTED: u8 = 1;
const LIVE: u8 = 2;

/// Slots with something to do, in order of arrival. Its length is bounded by the number of slots.
///
/// Removing is O(1): the entry stays behind and is dropped when it comes up.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    queue: VecDeque<u32>,
    marks: Vec<u8>,
    live: usize,
}

impl Ring {
    /// Makes room for slot `slot`.
    pub(crate) fn reserve(&mut self, slot: u32) {
        let len = slot as usize + 1;
        if self.marks.len() < len {
            self.marks.resize(len, 0);
            self.queue.reserve(len.saturating_sub(self.queue.len()));
        }
    }

    /// Adds the slot at the back unless it is in already.
    pub(crate) fn push(&mut self, slot: u32) {
        let mark = &mut self.marks[slot as usize];
        if *mark & LIVE == 0 {
            *mark |= LIVE;
            self.live += 1;
        }
        if *mark & LISTED == 0 {
            *mark |= LISTED;
            self.queue.push_back(slot);
        }
    }

    /// Takes the slot out.
    pub(crate) fn remove(&mut self, slot: u32) {
        let mark = &mut self.marks[slot as usize];
        if *mark & LIVE != 0 {
            *mark &= !LIVE;
            self.live -= 1;
        }
    }

    /// The slot whose turn it is.
    pub(crate) fn front(&mut self) -> Option<u32> {
        while let Some(&slot) = self.queue.front() {
            let mark = &mut self.marks[slot as usize];
            if *mark & LIVE != 0 {
                return Some(slot);
            }
            *mark &= !LISTED;
            self.queue.pop_front();
        }
        None
    }

    /// Takes out the slot whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let slot = self.front()?;
        self.queue.pop_front();
        self.marks[slot as usize] = 0;
        self.live -= 1;
        Some(slot)
    }

    /// Moves the slot at the front to the back.
    pub(crate) fn rotate(&mut self) {
        if let Some(slot) = self.pop() {
            self.push(slot);
        }
    }

    /// How many slots are in.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Whether none is in.
    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }
}
