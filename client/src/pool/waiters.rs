//! Calls that wait for a dial.

use std::task::{Context, Poll, Waker};

use super::target::DialFailure;

/// Names one waiting call; outlives it safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WaitKey {
    index: u32,
    generation: u32,
}

#[derive(Debug)]
pub(super) struct Waiters<K> {
    places: Vec<Place<K>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<K> {
    generation: u32,
    waiter: Option<Waiter<K>>,
}

#[derive(Debug)]
enum Waiter<K> {
    Waiting(Option<Waker>),
    Done(Result<K, DialFailure>),
}

impl<K> Default for Waiters<K> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<K> Waiters<K> {
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn insert(&mut self) -> WaitKey {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                waiter: None,
            });
            u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
        });
        let place = &mut self.places[index as usize];
        place.waiter = Some(Waiter::Waiting(None));
        WaitKey {
            index,
            generation: place.generation,
        }
    }

    /// Settles a call's wait; its waker, if it has left one.
    pub(super) fn settle(
        &mut self,
        key: WaitKey,
        outcome: Result<K, DialFailure>,
    ) -> Option<Waker> {
        match self.find(key)? {
            waiter @ Waiter::Waiting(_) => match std::mem::replace(waiter, Waiter::Done(outcome)) {
                Waiter::Waiting(waker) => waker,
                Waiter::Done(_) => None,
            },
            Waiter::Done(_) => None,
        }
    }

    /// The outcome; `None` inside for a key that was settled and taken before.
    pub(super) fn poll(
        &mut self,
        key: WaitKey,
        cx: &Context<'_>,
    ) -> Poll<Option<Result<K, DialFailure>>> {
        match self.find(key) {
            None => Poll::Ready(None),
            Some(Waiter::Waiting(place)) => {
                *place = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(Waiter::Done(_)) => match self.remove(key) {
                Some(Waiter::Done(outcome)) => Poll::Ready(Some(outcome)),
                _ => Poll::Ready(None),
            },
        }
    }

    /// The call no longer waits; whether it did.
    pub(super) fn cancel(&mut self, key: WaitKey) -> bool {
        self.remove(key).is_some()
    }

    fn find(&mut self, key: WaitKey) -> Option<&mut Waiter<K>> {
        let place = self.places.get_mut(key.index as usize)?;
        place
            .waiter
            .as_mut()
            .filter(|_| place.generation == key.generation)
    }

    fn remove(&mut self, key: WaitKey) -> Option<Waiter<K>> {
        self.find(key)?;
        let place = &mut self.places[key.index as usize];
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.index);
        place.waiter.take()
    }
}
