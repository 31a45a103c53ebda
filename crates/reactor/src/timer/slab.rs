//! Where timers live: an arena with a free list, whose entries link into the wheel's slots.

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: u32,
    len: usize,
}

/// A timer, or a free place.
#[derive(Debug)]
struct Entry<T> {
    value: T,
    links: Links,
    /// Even while it is free, so that no key names a free place.
    generation: u32,
}

/// A timer's place in its slot's circular list; in the free list only `next` counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub(super) tick: u64,
    pub(super) next: u32,
    pub(super) prev: u32,
    /// Which slot, so that a cancel finds its list however far time has moved on.
    pub(super) slot: u16,
}

impl<T: Copy> Slab<T> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
            free: NONE,
            len: 0,
        }
    }

    pub(super) fn insert(&mut self, value: T) -> (u32, u32) {
        self.len += 1;
        let index = self.free;
        if index != NONE {
            let entry = self.entry_mut(index);
            let next = entry.links.next;
            entry.value = value;
            entry.generation = entry.generation.wrapping_add(1);
            let generation = entry.generation;
            self.free = next;
            return (index, generation);
        }
        let index = self.entries.len() as u32;
        assert!(index < NONE, "a wheel holds fewer than 2^32 timers");
        let links = Links {
            tick: 0,
            next: NONE,
            prev: NONE,
            slot: 0,
        };
        let generation = 1;
        self.entries.push(Entry {
            value,
            links,
            generation,
        });
        (index, generation)
    }

    /// Frees an entry that is linked no more.
    pub(super) fn remove(&mut self, index: u32) -> T {
        let free = self.free;
        let entry = self.entry_mut(index);
        entry.generation = entry.generation.wrapping_add(1);
        entry.links.next = free;
        let value = entry.value;
        self.free = index;
        self.len -= 1;
        value
    }

    pub(super) fn contains(&self, index: u32, generation: u32) -> bool {
        let entry = self.entries.get(index as usize);
        entry.is_some_and(|entry| entry.generation == generation)
    }

    pub(super) fn links(&mut self, index: u32) -> &mut Links {
        &mut self.entry_mut(index).links
    }

    fn entry_mut(&mut self, index: u32) -> &mut Entry<T> {
        &mut self.entries[index as usize]
    }
}

impl<T> Slab<T> {
    pub(super) const fn len(&self) -> usize {
        self.len
    }
}
