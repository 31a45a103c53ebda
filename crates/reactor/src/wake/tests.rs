use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Waker, WakerKind, drain_eventfd, new_eventfd};

#[test]
fn an_eventfd_wake_is_seen_once_however_often_it_came() {
    let fd = new_eventfd().unwrap();
    let waker = Waker::eventfd(Arc::clone(&fd));
    assert_eq!(waker.kind(), WakerKind::Eventfd);
    assert!(!drain_eventfd(&fd));
    waker.wake();
    waker.clone().wake();
    assert!(drain_eventfd(&fd));
    assert!(!drain_eventfd(&fd));
}

#[test]
fn a_flag_wake_sets_the_flag() {
    let flag = Arc::new(AtomicBool::new(false));
    let waker = Waker::flag(Arc::clone(&flag));
    waker.wake();
    assert!(flag.load(Ordering::SeqCst));
}

#[test]
fn a_noop_wake_does_nothing() {
    Waker::noop().wake();
    assert_eq!(Waker::noop().kind().to_string(), "noop");
}

#[test]
fn wakers_cross_threads() {
    fn check<T: Send + Sync + Clone>() {}
    check::<Waker>();
}
