//! Streams by their own key, and by the codec's slot while they are open.

use ringmain_codec::{StreamHandle, StreamId};
use ringmain_reactor::timer::TimerKey;

use super::stream::{Stream, StreamKey};

/// A stream outlives its codec slot until its consumer has read the terminal, so the two are
/// indexed apart.
#[derive(Debug)]
pub(super) struct Table<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
    /// Codec slot to place.
    by_slot: Vec<Option<(StreamId, u32)>>,
    open: usize,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    stream: Option<Box<Stream<T>>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            by_slot: Vec::new(),
            open: 0,
        }
    }
}

impl<T> Table<T> {
    pub(super) fn insert(&mut self, handle: StreamHandle, stream: Stream<T>) -> StreamKey {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                stream: None,
            });
            u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
        });
        let place = &mut self.places[index as usize];
        place.stream = Some(Box::new(stream));
        let slot = handle.slot as usize;
        if self.by_slot.len() <= slot {
            self.by_slot.resize(slot + 1, None);
        }
        self.by_slot[slot] = Some((handle.id, index));
        self.open += 1;
        StreamKey {
            index,
            generation: place.generation,
        }
    }

    pub(super) fn find(&self, key: StreamKey) -> Option<&Stream<T>> {
        let place = self.places.get(key.index as usize)?;
        place
            .stream
            .as_deref()
            .filter(|_| place.generation == key.generation)
    }

    pub(super) fn find_mut(&mut self, key: StreamKey) -> Option<&mut Stream<T>> {
        let place = self.places.get_mut(key.index as usize)?;
        place
            .stream
            .as_deref_mut()
            .filter(|_| place.generation == key.generation)
    }

    pub(super) fn at_mut(&mut self, index: u32) -> Option<&mut Stream<T>> {
        self.places.get_mut(index as usize)?.stream.as_deref_mut()
    }

    pub(super) fn key_at(&self, index: u32) -> StreamKey {
        StreamKey {
            index,
            generation: self.places[index as usize].generation,
        }
    }

    /// The stream that the codec means; `None` for one that has ended here.
    pub(super) fn key_of(&self, handle: StreamHandle) -> Option<StreamKey> {
        let &(id, index) = self.by_slot.get(handle.slot as usize)?.as_ref()?;
        (id == handle.id).then(|| self.key_at(index))
    }

    /// Takes the stream out of the codec's index; `None` if that was done before.
    pub(super) fn close(&mut self, index: u32) -> Option<Option<TimerKey>> {
        let stream = self.places.get_mut(index as usize)?.stream.as_deref_mut()?;
        let handle = stream.handle.take()?;
        let timer = stream.timer.take();
        let slot = &mut self.by_slot[handle.slot as usize];
        if slot.is_some_and(|(id, _)| id == handle.id) {
            *slot = None;
        }
        self.open -= 1;
        Some(timer)
    }

    /// Removes a stream; one that is still open is closed first.
    pub(super) fn remove(&mut self, key: StreamKey) -> Option<Stream<T>> {
        self.find(key)?;
        let timer = self.close(key.index).flatten();
        let place = &mut self.places[key.index as usize];
        let mut stream = place.stream.take()?;
        stream.timer = stream.timer.or(timer);
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(*stream)
    }

    /// Places of the streams that are still open.
    pub(super) fn open(&self) -> Vec<u32> {
        self.by_slot
            .iter()
            .flatten()
            .map(|&(_, index)| index)
            .collect()
    }

    pub(super) const fn streams_open(&self) -> usize {
        self.open
    }

    /// Whether no consumer holds a stream.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.places.len() == self.free.len()
    }
}
