//! A table of slots whose ids go stale when a slot is used again.

/// Values under (index, generation) pairs.
///
/// A removed value's pair never names a later value of the same slot, until the generation has
/// gone round 2^32 times.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    slots_max: u32,
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slots<T> {
    /// A table that refuses more than `slots_max` values.
    pub(crate) fn new(slots_max: u32) -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            slots_max,
        }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether one more value would be refused.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.slots_max as usize
    }

    /// Puts a value in; gives it back when the table is full.
    pub(crate) fn insert(&mut self, value: T) -> Result<(u32, u32), T> {
        if self.is_full() {
            return Err(value);
        }
        if let Some(index) = self.free.pop() {
            let entry = &mut self.entries[index as usize];
            entry.value = Some(value);
            return Ok((index, entry.generation));
        }
        // `slots_max` is a u32, so the index fits.
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push(Entry {
            generation: 0,
            value: Some(value),
        });
        Ok((index, 0))
    }

    /// The value of a pair that is not stale.
    pub(crate) fn at(&mut self, index: u32, generation: u32) -> Option<&mut T> {
        let entry = self.entries.get_mut(index as usize)?;
        if entry.generation == generation {
            entry.value.as_mut()
        } else {
            None
        }
    }

    /// Takes the value of a pair that is not stale; its slot may be used again at once.
    pub(crate) fn remove(&mut self, index: u32, generation: u32) -> Option<T> {
        let value = self.retire(index, generation)?;
        self.reuse(index);
        Some(value)
    }

    /// Takes the value of a pair that is not stale and keeps its slot, which counts as a value
    /// until [`reuse`](Self::reuse): for users who keep tables by slot and have not heard of the
    /// end yet.
    pub(crate) fn retire(&mut self, index: u32, generation: u32) -> Option<T> {
        let entry = self.entries.get_mut(index as usize)?;
        if entry.generation != generation {
            return None;
        }
        let value = entry.value.take()?;
        entry.generation = generation.wrapping_add(1);
        Some(value)
    }

    /// Lets a retired slot be used again.
    pub(crate) fn reuse(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Each value.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().filter_map(|entry| entry.value.as_ref())
    }

    /// Takes every value.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.free.clear();
        std::mem::take(&mut self.entries)
            .into_iter()
            .filter_map(|entry| entry.value)
    }
}

#[cfg(test)]
mod tests;
