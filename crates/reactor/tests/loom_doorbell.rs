//! Model checks of the sleeping flag and the mailbox: every interleaving within the bounds.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p ringmain-reactor --release --test loom_doorbell`
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use ringmain_reactor::doorbell::Doorbell;
use ringmain_reactor::mailbox::{self, Receiver, TrySendError};
use ringmain_reactor::wake_model::Waker;

/// Explores all executions with at most `preemptions` forced switches.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// What a shard does until it has `items`. A wake-up that is lost is a deadlock. Each time that
/// the flag goes up there is one wake at most; exactly one if the thread sleeps.
fn receive(receiver: &mut Receiver<usize>, waker: &Waker, items: usize) -> Vec<usize> {
    let mut received = Vec::new();
    let mut flags = 0;
    let mut sleeps = 0;
    while received.len() < items {
        while let Some(item) = receiver.try_recv() {
            received.push(item);
        }
        if received.len() == items {
            break;
        }
        flags += 1;
        if receiver.prepare_park() {
            sleeps += 1;
            waker.wait();
            receiver.unpark();
        } else {
            // Work that is not there yet: a producer is between its claim and its fill.
            thread::yield_now();
        }
    }
    let wakes = waker.wakes();
    assert!(
        sleeps <= wakes && wakes <= flags,
        "{sleeps} sleeps, {wakes} wakes, {flags} flags"
    );
    received
}

#[test]
fn no_wake_is_lost_with_two_producers() {
    explore(3, || {
        let waker = Waker::new();
        let (sender, mut receiver) = mailbox::channel(2, waker.clone());
        let producers = [1, 2].map(|item| {
            let sender = sender.clone();
            thread::spawn(move || assert_eq!(sender.try_send(item), Ok(())))
        });
        let mut received = receive(&mut receiver, &waker, 2);
        received.sort_unstable();
        assert_eq!(received, [1, 2]);
        for producer in producers {
            producer.join().unwrap();
        }
        drop(sender);
    });
}

#[test]
fn a_producer_of_two_items_wakes_each_sleep_once() {
    explore(4, || {
        let waker = Waker::new();
        let (sender, mut receiver) = mailbox::channel(2, waker.clone());
        let producer = thread::spawn(move || {
            for item in [1, 2] {
                assert_eq!(sender.try_send(item), Ok(()));
            }
            sender
        });
        let received = receive(&mut receiver, &waker, 2);
        assert_eq!(received, [1, 2]);
        let sender = producer.join().unwrap();
        drop(sender);
    });
}

#[test]
fn a_sleep_is_ended_by_exactly_one_of_two_rings() {
    explore(4, || {
        let waker = Waker::new();
        let bell = Doorbell::new(waker.clone());
        let published = Arc::new(AtomicUsize::new(0));
        let producers = [(); 2].map(|()| {
            let (bell, published) = (bell.clone(), published.clone());
            thread::spawn(move || {
                published.fetch_add(1, Ordering::SeqCst);
                bell.ring();
            })
        });
        let parked = bell.prepare_park(|| published.load(Ordering::SeqCst) != 0);
        if parked {
            waker.wait();
            assert_ne!(published.load(Ordering::SeqCst), 0);
        }
        for producer in producers {
            producer.join().unwrap();
        }
        // One that raced with the look may have woken an owner that then stayed awake.
        let wakes = waker.wakes();
        assert!(
            if parked { wakes == 1 } else { wakes <= 1 },
            "{wakes} wakes, parked: {parked}"
        );
    });
}

#[test]
fn the_last_sender_ends_a_sleep() {
    explore(3, || {
        let waker = Waker::new();
        let (sender, mut receiver) = mailbox::channel(2, waker.clone());
        let second = sender.clone();
        let producers = [
            thread::spawn(move || {
                assert_eq!(sender.try_send(1), Ok(()));
                drop(sender);
            }),
            thread::spawn(move || drop(second)),
        ];
        let mut received = Vec::new();
        while !receiver.is_closed() {
            received.extend(receiver.try_recv());
            if receiver.prepare_park() {
                waker.wait();
                receiver.unpark();
            } else {
                thread::yield_now();
            }
        }
        assert_eq!(received, [1]);
        for producer in producers {
            producer.join().unwrap();
        }
    });
}

#[test]
fn an_item_is_received_or_refused_or_dropped_when_the_receiver_goes() {
    explore(3, || {
        let (sender, receiver) = mailbox::channel(2, Waker::new());
        let item = Arc::new(());
        let producers = [(); 2].map(|()| {
            let (sender, item) = (sender.clone(), item.clone());
            thread::spawn(move || match sender.try_send(item) {
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(other) => panic!("there is room: {other:?}"),
            })
        });
        drop(receiver);
        for producer in producers {
            producer.join().unwrap();
        }
        assert!(sender.is_closed());
        drop(sender);
        assert_eq!(Arc::strong_count(&item), 1);
    });
}

#[test]
fn a_full_ring_refuses_and_laps_are_not_confused() {
    explore(3, || {
        let (sender, mut receiver) = mailbox::channel(2, Waker::new());
        for item in [1, 2] {
            assert_eq!(sender.try_send(item), Ok(()));
        }
        let producer = thread::spawn(move || {
            let sent = sender.try_send(3).is_ok();
            (sender, sent)
        });
        assert_eq!(receiver.try_recv(), Some(1));
        let (sender, sent) = producer.join().unwrap();
        assert_eq!(receiver.try_recv(), Some(2));
        assert_eq!(receiver.try_recv(), sent.then_some(3));
        assert_eq!(receiver.full_total(), u64::from(!sent));
        drop(sender);
    });
}
