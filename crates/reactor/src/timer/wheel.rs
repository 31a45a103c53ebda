//! The slots: which timer is in which list, and what time it is.

use super::slab::{Links, NONE, Slab};

/// Slots of a level; 2^6, one bit each in the level's bitmap.
const SLOTS: usize = 64;
const SLOT_BITS: u32 = 6;
const LEVELS: usize = 8;
const TICK_BITS: u32 = SLOT_BITS * LEVELS as u32;

/// The last tick, some 2,200 years on; later deadlines are at this one.
pub(super) const TICK_MAX: u64 = (1 << TICK_BITS) - 1;

/// A hierarchical wheel.
///
/// A timer is on the level of the highest group of six bits in which its tick differs from the
/// time, in the slot that the group names. So ticks of a level are all before those of the level
/// above, within a level the lowest occupied slot is the earliest, and slots of level 0 are one
/// tick wide. When the time enters a slot of a higher level its timers move down.
#[derive(Debug)]
pub(super) struct Wheel {
    /// All earlier ticks have fired.
    time: u64,
    /// A bit for each slot that has timers.
    occupied: [u64; LEVELS],
    slots: Box<[Slot]>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Head of a circular list in order of insertion.
    first: u32,
    /// No timer of the slot is earlier; exact unless the earliest one was cancelled.
    earliest: u64,
}

const VACANT: Slot = Slot {
    first: NONE,
    earliest: TICK_MAX,
};

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            time: 0,
            occupied: [0; LEVELS],
            slots: vec![VACANT; LEVELS * SLOTS].into_boxed_slice(),
        }
    }

    /// Puts a timer where its tick belongs; one that is due, into the present slot.
    pub(super) fn link<T: Copy>(&mut self, timers: &mut Slab<T>, index: u32, tick: u64) {
        let tick = tick.max(self.time);
        let level = level_of(self.time ^ tick);
        let digit = digit_of(tick, level);
        let at = level * SLOTS + digit;
        let Slot { first, earliest } = self.slots[at];
        let slot = at as u16;
        if first == NONE {
            *timers.links(index) = Links {
                tick,
                next: index,
                prev: index,
                slot,
            };
            self.occupied[level] |= 1 << digit;
            self.slots[at] = Slot {
                first: index,
                earliest: tick,
            };
            return;
        }
        let last = std::mem::replace(&mut timers.links(first).prev, index);
        timers.links(last).next = index;
        *timers.links(index) = Links {
            tick,
            next: first,
            prev: last,
            slot,
        };
        self.slots[at].earliest = earliest.min(tick);
    }

    /// Takes a timer out of its list.
    pub(super) fn unlink<T: Copy>(&mut self, timers: &mut Slab<T>, index: u32) {
        let Links {
            next, prev, slot, ..
        } = *timers.links(index);
        let at = usize::from(slot);
        if next == index {
            self.vacate(at);
            return;
        }
        timers.links(prev).next = next;
        timers.links(next).prev = prev;
        if self.slots[at].first == index {
            self.slots[at].first = next;
        }
    }

    /// Takes the earliest timer that is due at `now`, or moves the time to `now` if there is none.
    pub(super) fn pop<T: Copy>(&mut self, timers: &mut Slab<T>, now: u64) -> Option<u32> {
        while let Some((level, digit)) = self.next_slot() {
            let start = self.start_of(level, digit);
            if start > now {
                break;
            }
            self.time = start;
            let at = level * SLOTS + digit;
            if level == 0 {
                let index = self.slots[at].first;
                self.unlink(timers, index);
                return Some(index);
            }
            self.move_down(timers, at);
        }
        self.time = self.time.max(now);
        None
    }

    /// No timer is due before this tick.
    pub(super) fn next_tick(&self) -> Option<u64> {
        let (level, digit) = self.next_slot()?;
        Some(self.slots[level * SLOTS + digit].earliest)
    }

    /// The earliest slot with a timer.
    fn next_slot(&self) -> Option<(usize, usize)> {
        let level = self.occupied.iter().position(|&slots| slots != 0)?;
        Some((level, self.occupied[level].trailing_zeros() as usize))
    }

    /// The first tick of a slot: the time's higher digits, then the slot's own.
    fn start_of(&self, level: usize, digit: usize) -> u64 {
        let shift = level as u32 * SLOT_BITS;
        let above = (self.time >> shift) & !(SLOTS as u64 - 1);
        (above | digit as u64) << shift
    }

    /// Links all timers of a slot anew, now that the time is in it.
    fn move_down<T: Copy>(&mut self, timers: &mut Slab<T>, at: usize) {
        let first = self.slots[at].first;
        self.vacate(at);
        let mut index = first;
        loop {
            let Links { tick, next, .. } = *timers.links(index);
            self.link(timers, index, tick);
            if next == first {
                break;
            }
            index = next;
        }
    }

    fn vacate(&mut self, at: usize) {
        self.occupied[at / SLOTS] &= !(1 << (at % SLOTS));
        self.slots[at] = VACANT;
    }
}

/// The level of the highest digit that is not 0.
const fn level_of(difference: u64) -> usize {
    let highest = 63 - (difference | 1).leading_zeros();
    (highest / SLOT_BITS) as usize
}

const fn digit_of(tick: u64, level: usize) -> usize {
    (tick >> (level as u32 * SLOT_BITS)) as usize & (SLOTS - 1)
}
