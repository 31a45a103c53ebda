use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Doorbell;
use crate::wake::Waker;

fn doorbell() -> (Doorbell, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    (Doorbell::new(Waker::flag(flag.clone())), flag)
}

#[test]
fn an_awake_owner_is_not_woken() {
    let (bell, flag) = doorbell();
    bell.ring();
    assert!(!flag.load(Ordering::SeqCst));
    assert_eq!(bell.wakes_total(), 0);
}

#[test]
fn a_sleep_costs_one_wake() {
    let (bell, flag) = doorbell();
    for sleep in 1..=3 {
        assert!(bell.prepare_park(|| false));
        bell.ring();
        bell.clone().ring();
        assert!(flag.swap(false, Ordering::SeqCst));
        assert_eq!(bell.wakes_total(), sleep);
        bell.unpark();
        bell.ring();
        assert!(!flag.load(Ordering::SeqCst));
    }
}

#[test]
fn work_found_on_the_way_to_sleep_keeps_the_owner_awake() {
    let (bell, flag) = doorbell();
    assert!(!bell.prepare_park(|| true));
    bell.ring();
    assert!(!flag.load(Ordering::SeqCst));
}

#[test]
fn a_ring_between_the_flag_and_the_look_wakes() {
    let (bell, flag) = doorbell();
    assert!(bell.prepare_park(|| {
        bell.ring();
        false
    }));
    assert!(flag.load(Ordering::SeqCst));
}
