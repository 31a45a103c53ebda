//! Producers that wait for room in their link's out-buffer.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::task::Waker;

/// Room that each woken producer is expected to use: the send quantum of the middle priority.
const SHARE_BYTES: usize = 8 * 1024;

/// The producers on one shard that wait for one link's out-buffer, oldest first.
///
/// A producer that waits holds its own message; nothing is copied aside. As many are woken as the
/// room is expected to serve, so that a thousand of them do not run to find the room gone.
#[derive(Debug, Default)]
pub struct RoomQueue(RefCell<Waiting>);

/// A producer's place in a [`RoomQueue`]; it leaves by being woken or by
/// [`forget`](RoomQueue::forget).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomPlace(u64);

#[derive(Debug, Default)]
struct Waiting {
    /// By place, ascending.
    wakers: VecDeque<(u64, Waker)>,
    /// Places given so far.
    given: u64,
}

impl RoomQueue {
    /// Whether nobody waits. One load.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().wakers.is_empty()
    }

    /// Takes the last place.
    pub fn wait(&self, waker: &Waker) -> RoomPlace {
        let mut waiting = self.0.borrow_mut();
        waiting.given += 1;
        let place = waiting.given;
        waiting.wakers.push_back((place, waker.clone()));
        RoomPlace(place)
    }

    /// Whether `place` is still waiting; if so, `waker` is the one to wake.
    pub fn still_waits(&self, place: RoomPlace, waker: &Waker) -> bool {
        let mut waiting = self.0.borrow_mut();
        let Some(at) = waiting.find(place) else {
            return false;
        };
        waiting.wakers[at].1.clone_from(waker);
        true
    }

    /// Gives a place up.
    pub fn forget(&self, place: RoomPlace) {
        let removed = {
            let mut waiting = self.0.borrow_mut();
            let at = waiting.find(place);
            at.and_then(|at| waiting.wakers.remove(at))
        };
        // Outside of the borrow: a waker may be the last owner of a task with a place here.
        drop(removed);
    }

    /// Wakes as many as `room` bytes are expected to serve, at least one.
    pub(crate) fn wake(&self, room: usize) {
        for _ in 0..(room / SHARE_BYTES).max(1) {
            let first = self.0.borrow_mut().wakers.pop_front();
            let Some((_, waker)) = first else { return };
            waker.wake();
        }
    }
}

impl Waiting {
    fn find(&self, RoomPlace(place): RoomPlace) -> Option<usize> {
        let at = self.wakers.partition_point(|(known, _)| *known < place);
        (self.wakers.get(at)?.0 == place).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::{RoomQueue, SHARE_BYTES};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn waiters(queue: &RoomQueue, n: usize) -> Vec<(Arc<Count>, super::RoomPlace)> {
        let add = |_| {
            let count = Arc::new(Count::default());
            let place = queue.wait(&Waker::from(Arc::clone(&count)));
            (count, place)
        };
        (0..n).map(add).collect()
    }

    fn woken(waiters: &[(Arc<Count>, super::RoomPlace)]) -> Vec<usize> {
        let count = |(count, _): &(Arc<Count>, _)| count.0.load(Ordering::Relaxed);
        waiters.iter().map(count).collect()
    }

    #[test]
    fn the_oldest_are_woken_as_far_as_the_room_goes() {
        let queue = RoomQueue::default();
        let waiters = waiters(&queue, 4);
        queue.wake(2 * SHARE_BYTES);
        assert_eq!(woken(&waiters), [1, 1, 0, 0]);
        queue.wake(1);
        assert_eq!(woken(&waiters), [1, 1, 1, 0]);
        queue.wake(100 * SHARE_BYTES);
        assert_eq!(woken(&waiters), [1, 1, 1, 1]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_place_that_is_given_up_is_not_woken() {
        let queue = RoomQueue::default();
        let waiters = waiters(&queue, 3);
        queue.forget(waiters[1].1);
        queue.forget(waiters[1].1);
        queue.wake(2 * SHARE_BYTES);
        assert_eq!(woken(&waiters), [1, 0, 1]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_place_is_told_from_one_that_was_woken() {
        let queue = RoomQueue::default();
        let waiters = waiters(&queue, 2);
        queue.wake(1);
        assert!(!queue.still_waits(waiters[0].1, Waker::noop()));
        assert!(queue.still_waits(waiters[1].1, Waker::noop()));
        queue.wake(1);
        assert_eq!(woken(&waiters), [1, 0], "the waker was replaced");
    }
}
