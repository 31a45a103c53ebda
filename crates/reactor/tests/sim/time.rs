//! Virtual time moves when all are idle, and no further than somebody asked.

use std::time::Duration;

use ringmain_reactor::driver::sim::SimConfig;
use ringmain_reactor::{Event, IoKind, Reactor};
use rustix::event::{EventfdFlags, eventfd};

use crate::harness::{Hosts, config_with_delay};

const MS: Duration = Duration::from_millis(1);

#[test]
fn time_stops_at_the_earliest_wish() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 2);
    let start = hosts.net.now();
    // A reactor that has never turned is due.
    assert_eq!(hosts.net.next_event_time(), Some(start));
    hosts.reactors[0].turn(Some(start + 5 * MS)).unwrap();
    assert_eq!(hosts.net.next_event_time(), Some(start));
    hosts.reactors[1].turn(Some(start + 3 * MS)).unwrap();
    assert_eq!(hosts.net.next_event_time(), Some(start + 3 * MS));
    assert!(hosts.net.step());
    assert_eq!(hosts.net.elapsed(), 3 * MS);
    // Due until it turns again.
    assert!(hosts.net.step());
    assert_eq!(hosts.net.elapsed(), 3 * MS);
    assert_eq!(hosts.reactors[1].now(), start);
    hosts.reactors[1].turn(None).unwrap();
    assert_eq!(hosts.reactors[1].now(), start + 3 * MS);
    assert!(hosts.net.step());
    hosts.reactors[0].turn(None).unwrap();
    assert_eq!((hosts.net.elapsed(), hosts.net.step()), (5 * MS, false));
    hosts.net.advance_to(start + 9 * MS);
    assert_eq!(hosts.net.elapsed(), 9 * MS);
}

#[test]
fn deliveries_take_their_delay() {
    let mut hosts = Hosts::new(1, config_with_delay(7 * MS), 2);
    let (dialed, _) = hosts.pair();
    assert_eq!(hosts.net.elapsed(), 14 * MS);
    hosts.reactors[0].send(dialed, b"x".to_vec());
    let (events, got) = hosts.events();
    assert!(matches!(&events[..], [(0, Event::Sent { .. })]));
    assert_eq!((&got[1][..], hosts.net.elapsed()), (&b"x"[..], 21 * MS));
}

#[test]
fn a_wake_makes_its_reactor_due() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 1);
    hosts.reactors[0].turn(None).unwrap();
    assert_eq!(hosts.net.next_event_time(), None);
    let waker = hosts.reactors[0].waker();
    std::thread::spawn(move || waker.wake()).join().unwrap();
    assert_eq!(hosts.net.next_event_time(), Some(hosts.net.now()));
    hosts.reactors[0].turn(None).unwrap();
    assert_eq!(hosts.net.next_event_time(), None);
    assert_eq!(hosts.reactors[0].stats().wakes, 1);
    assert_eq!(hosts.reactors[0].io(), IoKind::Sim);
}

#[test]
fn foreign_descriptors_are_looked_at_each_turn() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 1);
    let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap();
    let reactor = &mut hosts.reactors[0];
    let poll = reactor.poll_fd(bell.try_clone().unwrap()).unwrap();
    reactor.turn(None).unwrap();
    assert!(reactor.next_event().is_none());
    rustix::io::write(&bell, &1u64.to_ne_bytes()).unwrap();
    reactor.turn(None).unwrap();
    assert!(matches!(reactor.next_event(), Some(Event::Readable { poll: id }) if id == poll));
    reactor.unpoll(poll);
    reactor.unpoll(poll);
    reactor.turn(None).unwrap();
    assert!(reactor.next_event().is_none());
    assert_eq!(reactor.in_flight(), 0);
}
