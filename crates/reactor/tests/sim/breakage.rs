//! Refused, reset, cut off.

use std::io::ErrorKind;
use std::time::Duration;

use ringmain_reactor::driver::sim::{Partition, SimConfig};
use ringmain_reactor::{Event, Reactor, SocketOptions};

use crate::harness::{Hosts, config_with_delay, pattern};

#[test]
fn nobody_listens() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 1);
    let socket = hosts.connect(0, &"10.0.0.9:80".parse().unwrap());
    hosts.reactors[0].send(socket, b"hello".to_vec());
    let (events, _) = hosts.events();
    let [
        (
            _,
            Event::Sent {
                buf,
                result: Err(_),
                ..
            },
        ),
        (_, Event::ConnectFailed { error, .. }),
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(
        (&buf[..], error.kind()),
        (&b"hello"[..], ErrorKind::ConnectionRefused)
    );
    assert_eq!(
        (hosts.reactors[0].in_flight(), hosts.net.connections()),
        (0, 0)
    );
}

#[test]
fn a_reset_tells_both_ends() {
    let config = SimConfig {
        pipe_bytes_max: 100,
        ..SimConfig::calm()
    };
    let mut hosts = Hosts::new(1, config, 2);
    let (dialed, accepted) = hosts.pair();
    hosts.reactors[0].send(dialed, pattern(1, 500));
    assert_eq!(hosts.net.reset_connections("0", "1"), 1);
    let (events, _) = hosts.events();
    let failed = |host| {
        let is_failed = |event: &Event| match event {
            Event::Failed { error, .. } => error.kind() == ErrorKind::ConnectionReset,
            _ => false,
        };
        events
            .iter()
            .filter(|(at, event)| *at == host && is_failed(event))
            .count()
    };
    assert_eq!((failed(0), failed(1)), (1, 1));
    assert!(
        events
            .iter()
            .any(|(_, event)| matches!(event, Event::Sent { result: Err(_), .. }))
    );
    // A send on the dead connection fails at once; nothing else ever comes.
    hosts.reactors[1].send(accepted, b"late".to_vec());
    let (events, _) = hosts.events();
    assert!(matches!(
        &events[..],
        [(1, Event::Sent { result: Err(_), .. })]
    ));
    hosts.reactors[0].close(dialed);
    hosts.reactors[1].close(accepted);
    assert_eq!(hosts.events().0.len(), 2);
    assert_eq!(hosts.net.connections(), 0);
}

#[test]
fn who_sends_to_a_closed_end_is_reset() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 2);
    let (dialed, accepted) = hosts.pair();
    hosts.reactors[1].close(accepted);
    hosts.events();
    hosts.reactors[0].send(dialed, b"anyone".to_vec());
    hosts.events();
    hosts.reactors[0].send(dialed, b"anyone".to_vec());
    let (events, _) = hosts.events();
    assert!(
        matches!(&events[..], [(0, Event::Sent { result: Err(_), .. })]),
        "{events:?}"
    );
}

#[test]
fn a_holding_partition_delays_everything() {
    let mut hosts = Hosts::new(1, SimConfig::choppy(), 2);
    let (dialed, accepted) = hosts.pair();
    let (_, address) = hosts.listen(1);
    hosts.net.partition("1", "0", Partition::Hold);
    let bytes = pattern(4, 20_000);
    hosts.reactors[0].send(dialed, bytes.clone());
    hosts.reactors[1].send(accepted, bytes.clone());
    let (events, got) = hosts.events();
    assert!(
        events.is_empty() && got.iter().all(Vec::is_empty),
        "{events:?}"
    );
    hosts.net.heal("0", "1");
    let (events, got) = hosts.events();
    assert_eq!(events.len(), 2);
    assert!(got.iter().all(|got| *got == bytes));
    // A dial waits too, but not for ever.
    hosts.net.partition("0", "1", Partition::Hold);
    let before = hosts.net.elapsed();
    hosts.connect(0, &address);
    let (events, _) = hosts.events();
    let [(0, Event::ConnectFailed { error, .. })] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(hosts.net.elapsed() - before >= SimConfig::calm().connect_timeout);
    hosts.net.heal_all();
    assert!(hosts.events().0.is_empty());
}

#[test]
fn a_black_hole_kills_what_uses_the_way_and_nothing_else() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 3);
    let (dialed, _) = hosts.pair();
    let (listener, address) = hosts.listen(1);
    hosts.net.partition("0", "1", Partition::BlackHole);
    hosts.reactors[0].send(dialed, b"gone".to_vec());
    hosts.connect(0, &address);
    hosts.connect(2, &address);
    let (events, got) = hosts.events();
    assert!(got[1].is_empty());
    let count = |wanted: fn(&Event) -> bool| events.iter().filter(|(_, e)| wanted(e)).count();
    assert_eq!(
        count(|event| matches!(event, Event::ConnectFailed { .. })),
        1
    );
    assert_eq!(count(|event| matches!(event, Event::Connected { .. })), 1);
    drop(events);
    hosts.net.heal_all();
    hosts.reactors[0].close(dialed);
    let (events, _) = hosts.events();
    assert!(
        !events.iter().any(|(host, _)| *host == 1),
        "a dead connection spoke: {events:?}"
    );
    let socket = hosts.connect(0, &address);
    hosts.reactors[0].send(socket, b"back".to_vec());
    let mut got = Vec::new();
    hosts.settle(|_, reactor, event| match event {
        Event::Accepted { fd, .. } => drop(reactor.adopt(fd, &SocketOptions::default()).unwrap()),
        Event::Received { buf, .. } => {
            got.extend_from_slice(reactor.bytes(&buf));
            reactor.recycle(buf);
        }
        _ => {}
    });
    assert_eq!(got, b"back");
    hosts.reactors[1].unlisten(listener);
}

#[test]
fn dropped_connections_say_nothing() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 2);
    let (dialed, accepted) = hosts.pair();
    assert_eq!(hosts.net.drop_connections("0", "1"), 1);
    hosts.reactors[0].send(dialed, b"into the void".to_vec());
    let (events, got) = hosts.events();
    assert!(matches!(
        &events[..],
        [(0, Event::Sent { result: Ok(()), .. })]
    ));
    assert!(got[1].is_empty());
    hosts.reactors[0].close(dialed);
    assert!(matches!(&hosts.events().0[..], [(0, Event::Closed { .. })]));
    hosts.reactors[1].close(accepted);
    hosts.events();
    assert_eq!(hosts.net.connections(), 0);
}

#[test]
fn accepting_pauses_without_descriptors() {
    let mut hosts = Hosts::new(1, config_with_delay(Duration::from_millis(1)), 2);
    let (_, address) = hosts.listen(1);
    hosts.net.fail_accepts("1", 2);
    hosts.connect(0, &address);
    let (events, _) = hosts.events();
    let kinds: Vec<_> = events
        .iter()
        .map(|(_, event)| match event {
            Event::AcceptFailed { .. } => "failed",
            Event::Accepted { .. } => "accepted",
            Event::Connected { .. } => "connected",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["failed", "failed", "accepted", "connected"]);
    assert_eq!(hosts.net.elapsed(), Duration::from_millis(202));
    assert_eq!(hosts.reactors[1].stats().accepts_backed_off, 2);
}

#[test]
fn a_reactor_that_is_dropped_closes_what_it_held() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 2);
    let (dialed, _) = hosts.pair();
    let (_, address) = hosts.listen(1);
    hosts.reactors.pop();
    let (events, _) = hosts.events();
    assert!(matches!(&events[..], [(0, Event::Eof { socket })] if *socket == dialed));
    hosts.connect(0, &address);
    let (events, _) = hosts.events();
    assert!(matches!(&events[..], [(0, Event::ConnectFailed { .. })]));
}
