use std::collections::VecDeque;
use std::ptr::NonNull;

use loom::sync::Arc;
use loom::thread;

use super::{Inbox, Linked};
use crate::doorbell::Doorbell;
use crate::sync::AtomicPtr;
use crate::wake_model::Waker;

/// A task as the inbox sees it.
struct Node {
    next: AtomicPtr<()>,
    number: usize,
}

/// An owning pointer to a node.
struct Item(Box<Node>);

impl Item {
    fn new(number: usize) -> Self {
        let next = AtomicPtr::new(std::ptr::null_mut());
        Self(Box::new(Node { next, number }))
    }
}

// SAFETY: a box's raw round trip gives the same box, and nothing else uses `next`.
unsafe impl Linked for Item {
    fn into_raw(self) -> NonNull<()> {
        NonNull::from(Box::leak(self.0)).cast()
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: `raw` is of `into_raw`.
        Self(unsafe { Box::from_raw(raw.cast().as_ptr()) })
    }

    fn next(&self) -> &AtomicPtr<()> {
        &self.0.next
    }
}

fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn foreign_wakes_of_two_threads_reach_a_parked_owner() {
    explore(3, || {
        let waker = Waker::new();
        let bell = Doorbell::new(waker.clone());
        let inbox = Arc::new(Inbox::<Item>::new());
        let producers = [&[1, 2][..], &[3][..]].map(|numbers| {
            let (bell, inbox) = (bell.clone(), inbox.clone());
            thread::spawn(move || {
                for &number in numbers {
                    inbox.push(Item::new(number));
                    bell.ring();
                }
            })
        });
        let mut queue = VecDeque::new();
        let mut flags = 0;
        while queue.len() < 3 {
            inbox.drain_into(&mut queue);
            if queue.len() == 3 {
                break;
            }
            flags += 1;
            if bell.prepare_park(|| !inbox.is_empty()) {
                waker.wait();
                bell.unpark();
            }
        }
        for producer in producers {
            producer.join().unwrap();
        }
        assert!(waker.wakes() <= flags, "one wake for a flag");
        let numbers: Vec<_> = queue.iter().map(|item| item.0.number).collect();
        let own: Vec<_> = numbers.iter().filter(|&&number| number < 3).collect();
        assert_eq!(
            own,
            [&1, &2],
            "a thread's wakes keep their order: {numbers:?}"
        );
    });
}

#[test]
fn what_is_left_is_dropped_with_the_inbox() {
    explore(3, || {
        let inbox = Arc::new(Inbox::<Item>::new());
        let pusher = {
            let inbox = inbox.clone();
            thread::spawn(move || inbox.push(Item::new(1)))
        };
        let mut queue = VecDeque::new();
        inbox.drain_into(&mut queue);
        drop(inbox);
        pusher.join().unwrap();
        assert!(queue.len() <= 1);
    });
}
