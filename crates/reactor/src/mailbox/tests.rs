use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Receiver, Sender, TrySendError, channel, channel_on};
use crate::doorbell::Doorbell;
use crate::wake::Waker;

#[test]
fn capacity_is_rounded_up_and_enforced() {
    for (asked, capacity) in [(0, 2), (1, 2), (2, 2), (3, 4), (8, 8), (9, 16)] {
        let (sender, mut receiver) = channel(asked, Waker::noop());
        assert_eq!(
            (sender.capacity(), receiver.capacity()),
            (capacity, capacity)
        );
        // More laps than one, so that every slot is reused.
        for lap in 0..3 {
            for item in 0..capacity {
                assert_eq!(sender.try_send((lap, item)), Ok(()));
            }
            assert_eq!(receiver.len(), capacity);
            assert_eq!(
                sender.try_send((lap, 99)),
                Err(TrySendError::Full((lap, 99)))
            );
            for item in 0..capacity {
                assert_eq!(receiver.try_recv(), Some((lap, item)));
            }
            assert_eq!(receiver.try_recv(), None);
            assert_eq!(receiver.full_total(), lap + 1);
        }
    }
}

#[test]
fn a_send_wakes_only_a_sleeper_and_once() {
    let flag = Arc::new(AtomicBool::new(false));
    let (sender, mut receiver) = channel(8, Waker::flag(flag.clone()));
    sender.try_send(1).unwrap();
    assert!(!flag.load(Ordering::SeqCst));
    assert!(!receiver.prepare_park(), "an item waits");
    assert_eq!(receiver.try_recv(), Some(1));

    assert!(receiver.prepare_park());
    sender.try_send(2).unwrap();
    sender.try_send(3).unwrap();
    assert!(flag.swap(false, Ordering::SeqCst));
    assert_eq!(receiver.doorbell().wakes_total(), 1);
    receiver.unpark();
    assert_eq!(receiver.try_recv(), Some(2));
    assert!(receiver.has_work());
    assert_eq!(receiver.try_recv(), Some(3));
    assert!(!receiver.has_work());
}

#[test]
fn the_last_sender_wakes_a_sleeper() {
    let flag = Arc::new(AtomicBool::new(false));
    let (sender, mut receiver) = channel::<u8>(8, Waker::flag(flag.clone()));
    let second = sender.clone();
    assert!(receiver.prepare_park());
    drop(sender);
    assert!(!flag.load(Ordering::SeqCst));
    second.try_send(1).unwrap();
    drop(second);
    assert!(flag.load(Ordering::SeqCst));
    receiver.unpark();
    assert!(!receiver.is_closed(), "an item waits");
    assert_eq!(receiver.try_recv(), Some(1));
    assert!(!receiver.prepare_park(), "the end is to be noticed");
    assert!(receiver.is_closed());
    assert!(receiver.prepare_park(), "it was noticed");
}

#[test]
fn a_gone_receiver_gives_items_back_and_drops_what_waited() {
    let (sender, receiver) = channel(8, Waker::noop());
    let item = Arc::new(());
    sender.try_send(item.clone()).unwrap();
    assert!(!sender.is_closed());
    drop(receiver);
    assert_eq!(Arc::strong_count(&item), 1);
    assert!(sender.is_closed());
    assert_eq!(
        sender.try_send(item),
        Err(TrySendError::Closed(Arc::new(())))
    );
}

#[test]
fn two_mailboxes_share_one_flag() {
    let flag = Arc::new(AtomicBool::new(false));
    let bell = Doorbell::new(Waker::flag(flag.clone()));
    let (first, first_in) = channel_on::<u8>(2, bell.clone());
    let (second, second_in) = channel_on::<u8>(2, bell.clone());
    let look = || first_in.has_work() || second_in.has_work();
    assert!(bell.prepare_park(look));
    second.try_send(1).unwrap();
    first.try_send(1).unwrap();
    assert!(flag.load(Ordering::SeqCst));
    assert_eq!(bell.wakes_total(), 1);
    assert!(!bell.prepare_park(look));
}

#[test]
fn items_of_many_producers_arrive_once_and_in_order() {
    let (sender, mut receiver) = channel(4, Waker::noop());
    let producers = 3;
    let items = 5_000;
    let threads: Vec<_> = (0..producers)
        .map(|p| produce(sender.clone(), p, items))
        .collect();
    drop(sender);
    let mut next = vec![0; producers];
    while !receiver.is_closed() {
        while let Some((producer, item)) = receiver.try_recv() {
            assert_eq!(item, next[producer]);
            next[producer] += 1;
        }
        thread::yield_now();
    }
    assert_eq!(next, vec![items; producers]);
    for thread in threads {
        thread.join().unwrap();
    }
}

fn produce(
    sender: Sender<(usize, usize)>,
    producer: usize,
    items: usize,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        for item in 0..items {
            while sender.try_send((producer, item)).is_err() {
                thread::yield_now();
            }
        }
    })
}

/// The thread sleeps in earnest here: a lost wake-up hangs the test.
#[test]
fn a_parked_receiver_gets_everything() {
    let sleeper = Sleeper::default();
    let (sender, receiver) = channel(4, Waker::flag(sleeper.0.clone()));
    let threads: Vec<_> = (0..2).map(|p| produce(sender.clone(), p, 2_000)).collect();
    drop(sender);
    assert_eq!(sleeper.receive_all(receiver), 4_000);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[derive(Default)]
struct Sleeper(Arc<AtomicBool>);

impl Sleeper {
    fn receive_all(&self, mut receiver: Receiver<(usize, usize)>) -> usize {
        let mut received = 0;
        while !receiver.is_closed() {
            while receiver.try_recv().is_some() {
                received += 1;
            }
            if receiver.prepare_park() {
                while !self.0.swap(false, Ordering::SeqCst) {
                    thread::yield_now();
                }
                receiver.unpark();
            }
        }
        received
    }
}
