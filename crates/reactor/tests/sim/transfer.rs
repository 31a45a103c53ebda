//! Bytes arrive, all of them and in order.

use std::collections::BTreeMap;

use ringmain_reactor::driver::sim::SimConfig;
use ringmain_reactor::{Event, ListenOptions, Reactor, SocketOptions};

use crate::harness::{Hosts, pattern};

#[test]
fn echo_in_every_shape() {
    for (config, seeds) in [(SimConfig::calm(), 2), (SimConfig::choppy(), 20)] {
        for seed in 0..seeds {
            for len in [1, 1000, 100_000] {
                let mut hosts = Hosts::new(seed, config.clone(), 2);
                let (dialed, accepted) = hosts.pair();
                let bytes = pattern(seed, len);
                hosts.reactors[0].send(dialed, bytes.clone());
                let (events, got) = hosts.events();
                assert!(matches!(
                    &events[..],
                    [(0, Event::Sent { result: Ok(()), .. })]
                ));
                assert!(got[1] == bytes, "seed {seed}, {len} bytes");
                hosts.reactors[1].send(accepted, bytes.clone());
                let (_, got) = hosts.events();
                assert!(got[0] == bytes, "seed {seed}, {len} bytes back");
            }
        }
    }
}

#[test]
fn many_connections_do_not_mix() {
    let mut hosts = Hosts::new(3, SimConfig::choppy(), 2);
    let (_, address) = hosts.listen(1);
    let mut left = BTreeMap::new();
    for stream in 0..30 {
        let socket = hosts.connect(0, &address);
        // Sent before it is connected: it waits.
        hosts.reactors[0].send(socket, pattern(stream, 5000));
        left.insert(socket, (stream, 0));
    }
    let mut ends = BTreeMap::new();
    hosts.settle(|host, reactor, event| match event {
        Event::Accepted { fd, .. } => {
            let socket = reactor.adopt(fd, &SocketOptions::default()).unwrap();
            ends.insert(socket, Vec::new());
        }
        Event::Received { socket, buf } if host == 1 => {
            ends.get_mut(&socket)
                .unwrap()
                .extend_from_slice(reactor.bytes(&buf));
            reactor.recycle(buf);
            if ends[&socket].len() == 5000 {
                reactor.send(socket, ends[&socket].clone());
            }
        }
        Event::Received { socket, buf } => {
            let (stream, place) = left.get_mut(&socket).unwrap();
            let bytes = reactor.bytes(&buf);
            assert_eq!(bytes, &pattern(*stream, 5000)[*place..*place + bytes.len()]);
            *place += bytes.len();
            reactor.recycle(buf);
        }
        Event::Sent { result, .. } => result.unwrap(),
        Event::Connected { .. } => {}
        other => panic!("{other:?}"),
    });
    assert!(left.values().all(|&(_, place)| place == 5000));
}

#[test]
fn a_completed_send_survives_the_close() {
    for seed in 0..20 {
        let mut hosts = Hosts::new(seed, SimConfig::choppy(), 2);
        let (dialed, accepted) = hosts.pair();
        let bytes = pattern(seed, 3000);
        hosts.reactors[0].send(dialed, bytes.clone());
        let mut got = Vec::new();
        let mut ended = false;
        hosts.settle(|host, reactor, event| match event {
            Event::Sent { .. } => reactor.close(dialed),
            Event::Closed { buf: None, .. } => assert_eq!(host, 0),
            Event::Received { buf, .. } => {
                got.extend_from_slice(reactor.bytes(&buf));
                reactor.recycle(buf);
            }
            Event::Eof { socket } => {
                assert!(socket == accepted && !std::mem::replace(&mut ended, true));
            }
            other => panic!("{other:?}"),
        });
        assert!(ended && got == bytes, "seed {seed}");
    }
}

#[test]
fn a_cut_off_send_comes_back() {
    let config = SimConfig {
        pipe_bytes_max: 1000,
        ..SimConfig::calm()
    };
    let mut hosts = Hosts::new(1, config, 2);
    let (dialed, _) = hosts.pair();
    let bytes = pattern(1, 5000);
    hosts.reactors[0].send(dialed, bytes.clone());
    hosts.reactors[0].close(dialed);
    // Stale by now: no-ops.
    hosts.reactors[0].close(dialed);
    let (events, got) = hosts.events();
    let buf = events.iter().find_map(|(_, event)| match event {
        Event::Closed { buf, .. } => buf.as_deref(),
        _ => None,
    });
    assert_eq!(buf, Some(&bytes[..]));
    assert_eq!(got[1], bytes[..1000]);
    hosts.reactors[0].send(dialed, Vec::new());
    assert!(hosts.events().0.is_empty());
    assert_eq!(hosts.reactors[0].in_flight(), 0);
}

#[test]
fn an_accepted_descriptor_can_move_to_another_reactor() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 3);
    let (_, address) = hosts.listen(1);
    let dialed = hosts.connect(0, &address);
    hosts.reactors[0].send(dialed, b"early".to_vec());
    let (mut events, _) = hosts.events();
    let fd = events.drain(..).find_map(|(_, event)| match event {
        Event::Accepted {
            fd, peer: Some(_), ..
        } => Some(fd),
        _ => None,
    });
    let socket = hosts.reactors[2]
        .adopt(fd.unwrap(), &SocketOptions::default())
        .unwrap();
    let (_, got) = hosts.events();
    assert_eq!(got[2], b"early");
    hosts.reactors[2].send(socket, b"answer".to_vec());
    assert_eq!(hosts.events().1[0], b"answer");
}

#[test]
fn a_dropped_descriptor_ends_its_connection() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 2);
    let (_, address) = hosts.listen(1);
    let dialed = hosts.connect(0, &address);
    // Drops the descriptor of `Accepted`.
    let (events, _) = hosts.events();
    drop(events);
    let (events, _) = hosts.events();
    assert!(matches!(&events[..], [(0, Event::Eof { socket })] if *socket == dialed));
}

#[test]
fn addresses_are_one_space_for_all_hosts() {
    let mut hosts = Hosts::new(1, SimConfig::calm(), 2);
    let options = ListenOptions::default();
    let wildcard = "0.0.0.0:80".parse().unwrap();
    let path = "unix:/run/sim".parse().unwrap();
    let (listener, actual) = hosts.reactors[0].listen(&wildcard, &options).unwrap();
    assert_eq!(actual, wildcard);
    hosts.reactors[0].listen(&path, &options).unwrap();
    let taken = hosts.reactors[1].listen(&wildcard, &options).unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
    for address in [&"10.1.2.3:80".parse().unwrap(), &path] {
        hosts.connect(1, address);
        let (events, _) = hosts.events();
        assert!(
            events
                .iter()
                .any(|(_, event)| matches!(event, Event::Connected { .. }))
        );
    }
    hosts.reactors[0].unlisten(listener);
    hosts.reactors[0].unlisten(listener);
    hosts.reactors[1].listen(&wildcard, &options).unwrap();
}
