use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Wake;

use super::*;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn waiters(count: usize) -> Vec<(Arc<Count>, Waker)> {
    let one = || {
        let count = Arc::<Count>::default();
        (Arc::clone(&count), Waker::from(count))
    };
    std::iter::repeat_with(one).take(count).collect()
}

fn woken(waiters: &[(Arc<Count>, Waker)]) -> usize {
    let count = |(count, _): &(Arc<Count>, Waker)| count.0.load(Ordering::SeqCst);
    waiters.iter().map(count).sum()
}

/// Waiters that are not woken do not poll again: many of them must not keep waking each other.
#[test]
fn any_number_of_keyed_waiters_wait_in_peace() {
    let place = SharedWaker::default();
    let waiters = waiters(100);
    let mut keys: Vec<_> = waiters.iter().map(|_| WaitKey::default()).collect();
    for _ in 0..3 {
        for ((_, waker), key) in waiters.iter().zip(&mut keys) {
            place.register_keyed(key, waker);
        }
    }
    assert_eq!(woken(&waiters), 0);
    place.wake();
    assert_eq!(woken(&waiters), 100, "each once");
    place.wake();
    assert_eq!(woken(&waiters), 100, "nobody waits any more");
}

#[test]
fn a_place_that_was_given_up_is_gone_and_leaves_the_others() {
    let place = SharedWaker::default();
    let waiters = waiters(2);
    // Two futures of one task have a place each.
    let (mut first, mut second) = (WaitKey::default(), WaitKey::default());
    place.register_keyed(&mut first, &waiters[0].1);
    place.register_keyed(&mut second, &waiters[0].1);
    place.forget(&mut first);
    place.forget(&mut first);
    for _ in 0..1000 {
        let mut key = WaitKey::default();
        place.register_keyed(&mut key, &waiters[1].1);
        place.forget(&mut key);
    }
    assert_eq!(place.lock().wakers.len(), 1);
    place.wake();
    assert_eq!(woken(&waiters), 1);
}

#[test]
fn waiters_without_a_key_are_bounded_and_none_is_lost() {
    let place = SharedWaker::default();
    let waiters = waiters(WAITERS_MAX + 3);
    for (_, waker) in &waiters {
        place.register(waker);
        place.register(waker);
    }
    assert_eq!(woken(&waiters), 3, "the oldest were woken to look again");
    assert_eq!(place.lock().wakers.len(), WAITERS_MAX);
    place.wake();
    assert_eq!(woken(&waiters), WAITERS_MAX + 3);
}

/// A waker may own the last handle of something that wakes the same place as it goes.
#[test]
fn a_waker_may_come_back_to_its_place() {
    struct Again(Arc<SharedWaker>);
    impl Wake for Again {
        fn wake(self: Arc<Self>) {
            self.0.wake();
            self.0.register(Waker::noop());
        }
    }
    let place = Arc::<SharedWaker>::default();
    place.register(&Waker::from(Arc::new(Again(Arc::clone(&place)))));
    place.wake();
    assert_eq!(place.lock().wakers.len(), 1);
}
