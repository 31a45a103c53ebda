use std::sync::atomic::AtomicUsize;

use super::*;
use crate::{Freshness, Instance, Publisher};

const ENDPOINT: &str = "prod.worker.generate";
const LONG: Duration = Duration::from_secs(60);

fn publish(publisher: &mut Publisher, ids: &[u64]) {
    let instance = |&id: &u64| {
        let id = ringmain_codec::InstanceId::new(id).expect("not zero");
        Arc::new(Instance::new(
            id,
            ENDPOINT.parse().expect("id"),
            vec!["h:1".parse().expect("address")],
        ))
    };
    publisher.publish(ids.iter().map(instance).collect(), Freshness::Current);
}

struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn readers_follow_and_share() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    let handle = publisher.handle();
    let mut reader = handle.reader();
    assert_eq!((reader.load().version(), reader.load().len()), (0, 0));
    publish(&mut publisher, &[1, 2]);
    assert_eq!((reader.load().version(), reader.load().len()), (1, 2));
    assert!(Arc::ptr_eq(reader.load(), &handle.load()));
    let held = handle.load();
    publish(&mut publisher, &[]);
    // One decision keeps its snapshot, whatever happens meanwhile.
    assert_eq!(held.len(), 2);
    assert!(reader.load().is_empty());
}

#[test]
fn waiting_futures_are_woken_and_forgotten() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    let handle = publisher.handle();
    let wakes = Arc::new(CountWakes(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    let mut two = handle.wait_for(|snapshot| snapshot.len() == 2);
    let mut dropped = handle.changed(0);
    assert!(Pin::new(&mut two).poll(&mut context).is_pending());
    assert!(Pin::new(&mut two).poll(&mut context).is_pending());
    assert!(Pin::new(&mut dropped).poll(&mut context).is_pending());
    assert_eq!(handle.waiting(), 2);
    drop(dropped);
    publish(&mut publisher, &[1]);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(Pin::new(&mut two).poll(&mut context).is_pending());
    publish(&mut publisher, &[1, 2]);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 2);
    let Poll::Ready(Ok(snapshot)) = Pin::new(&mut two).poll(&mut context) else {
        panic!("two are there")
    };
    assert_eq!(snapshot.version(), 2);
    drop(two);
    assert_eq!(handle.waiting(), 0);
}

#[test]
fn the_end_of_the_publisher_ends_waiting_but_not_reading() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    let handle = publisher.handle();
    publish(&mut publisher, &[1]);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| handle.wait_blocking(LONG, |snapshot| snapshot.len() == 9));
        drop(publisher);
        assert_eq!(
            waiting
                .join()
                .expect("no panic")
                .map(|found| found.is_some()),
            Err(Closed)
        );
    });
    assert_eq!(handle.load().len(), 1);
    let found = handle.wait_blocking(LONG, |snapshot| snapshot.len() == 1);
    assert!(matches!(found, Ok(Some(_))));
}

#[test]
fn blocking_waits_see_what_is_published_and_give_up_in_time() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    let handle = publisher.handle();
    assert!(matches!(
        handle.wait_blocking(Duration::ZERO, |_| false),
        Ok(None)
    ));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| handle.wait_blocking(LONG, |snapshot| snapshot.len() == 3));
        for count in 1..=3 {
            publish(&mut publisher, &(1..=count).collect::<Vec<_>>());
        }
        assert!(matches!(waiting.join().expect("no panic"), Ok(Some(_))));
    });
}

#[test]
fn picking_threads_never_see_half_a_snapshot() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    let handle = publisher.handle();
    publish(&mut publisher, &[1, 2]);
    thread::scope(|scope| {
        for _ in 0..2 {
            let mut reader = handle.reader();
            scope.spawn(move || {
                for _ in 0..10_000 {
                    let snapshot = reader.load();
                    let member = &snapshot.members()[snapshot.len() - 1];
                    assert_eq!(snapshot.find(member.instance.id), Some(member));
                }
            });
        }
        for round in 0..1_000 {
            publish(&mut publisher, if round % 2 == 0 { &[1] } else { &[1, 2] });
        }
    });
}
