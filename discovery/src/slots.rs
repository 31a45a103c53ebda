//! Giving instances their places in tables.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use ringmain_codec::InstanceId;

/// Which slot each present instance has, and the generation of every slot.
///
/// Invariant: a slot is either in `by_id` once or in `free` once.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    by_id: HashMap<InstanceId, u32>,
    generations: Vec<u32>,
    free: BinaryHeap<Reverse<u32>>,
}

/// A slot and its generation.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl Slots {
    /// Frees the slots of all instances that are not kept. Comes before `place`, so that slots stay
    /// dense.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(InstanceId) -> bool) {
        let free = &mut self.free;
        self.by_id.retain(|&id, slot| {
            let kept = keep(id);
            if !kept {
                free.push(Reverse(*slot));
            }
            kept
        });
    }

    /// The place of an instance: its own, or the lowest free one under a new generation.
    pub(crate) fn place(&mut self, id: InstanceId) -> Place {
        if let Some(&slot) = self.by_id.get(&id) {
            return self.at(slot);
        }
        let slot = self
            .free
            .pop()
            .map_or_else(|| self.grow(), |Reverse(slot)| slot);
        self.by_id.insert(id, slot);
        self.renew(slot)
    }

    /// Starts a new generation of a slot.
    pub(crate) fn renew(&mut self, slot: u32) -> Place {
        let generation = &mut self.generations[slot as usize];
        *generation = generation.wrapping_add(1);
        self.at(slot)
    }

    /// Number of slots that were ever used.
    pub(crate) fn len(&self) -> u32 {
        // `grow` checked that the count fits.
        u32::try_from(self.generations.len()).unwrap_or(u32::MAX)
    }

    fn at(&self, slot: u32) -> Place {
        Place {
            slot,
            generation: self.generations[slot as usize],
        }
    }

    fn grow(&mut self) -> u32 {
        let slot = u32::try_from(self.generations.len());
        let slot =
            slot.unwrap_or_else(|_| unreachable!("an endpoint has far fewer instances than slots"));
        self.generations.push(0);
        slot
    }
}
