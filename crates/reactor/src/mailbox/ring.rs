//! The mailbox's ring of slots: many producers, one consumer, nobody waits.

use std::mem::MaybeUninit;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering, UnsafeCell};

/// A ring of a power of two of slots.
///
/// A slot's `turn` says whose it is: `position` = free for the producer that claims this position,
/// `position + 1` = filled, for the consumer. Positions only grow; 2^63 items are out
/// of reach.
pub(super) struct Ring<T> {
    /// Twice the next position to claim, plus [`CLOSED`]. One word, so that a claim and the close
    /// exclude each other.
    tail: CachePadded<AtomicU64>,
    /// The consumer's position; it alone writes it, and only `drop` needs it from here.
    head: CachePadded<AtomicU64>,
    slots: Box<[Slot<T>]>,
}

struct Slot<T> {
    turn: AtomicU64,
    item: UnsafeCell<MaybeUninit<T>>,
}

pub(super) enum PushError<T> {
    Full(T),
    Closed(T),
}

const CLOSED: u64 = 1;
const STEP: u64 = 2;

// SAFETY: the ring hands each item from the producer's thread to the consumer's and nothing else
// of it is shared, so that `T: Send` is all it needs.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as for `Send`: no reference to an item is ever given out.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    pub(super) fn new(capacity: usize) -> Self {
        // With one slot, "filled" and "free for the next lap" would be the same number.
        let capacity = capacity.max(2).next_power_of_two();
        let slot = |position| Slot {
            turn: AtomicU64::new(position),
            item: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Self {
            tail: CachePadded::new(AtomicU64::new(0)),
            head: CachePadded::new(AtomicU64::new(0)),
            slots: (0..capacity as u64).map(slot).collect(),
        }
    }

    #[inline]
    pub(super) fn push(&self, item: T) -> Result<(), PushError<T>> {
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            if tail & CLOSED != 0 {
                return Err(PushError::Closed(item));
            }
            let position = tail / STEP;
            let slot = self.slot(position);
            let turn = slot.turn.load(Ordering::Acquire);
            if turn != position {
                let seen = tail;
                tail = self.tail.load(Ordering::Relaxed);
                if tail == seen {
                    // Nobody claimed it meanwhile: the slot still holds the item of a lap ago.
                    return Err(PushError::Full(item));
                }
                continue;
            }
            // SeqCst: this is the publication that the doorbell's protocol speaks of.
            match self.tail.compare_exchange_weak(
                tail,
                tail + STEP,
                Ordering::SeqCst,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    slot.item.with_mut(|cell| {
                        // SAFETY: this thread claimed the position and the slot's turn said that
                        // the consumer has emptied it, so until the turn moves on no one else
                        // touches the cell.
                        unsafe { cell.write(MaybeUninit::new(item)) }
                    });
                    slot.turn.store(position + 1, Ordering::Release);
                    return Ok(());
                }
                Err(now) => tail = now,
            }
        }
    }

    /// Takes the item at `head`, the consumer's position, which it moves on if there was one.
    #[inline]
    pub(super) fn pop(&self, head: u64) -> Option<T> {
        let next = head + 1;
        let slot = self.slot(head);
        if slot.turn.load(Ordering::Acquire) != next {
            return None;
        }
        let item = slot.item.with_mut(|cell| {
            // SAFETY: the turn says "filled", written after the item and read with acquire; there
            // is one consumer, which moves the turn on below, so the item is read once.
            unsafe { cell.read() }
        });
        let free = head + self.slots.len() as u64;
        slot.turn.store(free, Ordering::Release);
        self.head.store(next, Ordering::Relaxed);
        // SAFETY: a filled slot's item is initialized.
        Some(unsafe { item.assume_init() })
    }

    /// Refuses all later pushes.
    pub(super) fn close(&self) {
        self.tail.fetch_or(CLOSED, Ordering::SeqCst);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.tail.load(Ordering::SeqCst) & CLOSED != 0
    }

    /// The next position to claim.
    pub(super) fn tail(&self) -> u64 {
        self.tail.load(Ordering::SeqCst) / STEP
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn slot(&self, position: u64) -> &Slot<T> {
        // The length is a power of two, so the mask keeps the index in range.
        &self.slots[position as usize & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let mut head = self.head.load(Ordering::Relaxed);
        while self.pop(head).is_some() {
            head = self.head.load(Ordering::Relaxed);
        }
    }
}
