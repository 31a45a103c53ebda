//! Buffers, windows and slots that run out.

use std::io::ErrorKind;

use ringmain_reactor::driver::sim::SimConfig;
use ringmain_reactor::{DriverConfig, Event, Reactor, RecvBuf, SocketOptions};

use crate::harness::{Hosts, pattern};

fn tight() -> SimConfig {
    SimConfig {
        pipe_bytes_max: 64,
        driver: DriverConfig {
            recv_buffers: 4,
            recv_buffer_bytes: 16,
            recv_buffers_per_socket_max: 2,
            sockets_max: 3,
            ..DriverConfig::server()
        },
        ..SimConfig::calm()
    }
}

#[test]
fn a_send_ends_only_as_the_peer_receives() {
    let mut hosts = Hosts::new(1, tight(), 2);
    let (dialed, _) = hosts.pair();
    hosts.reactors[0].send(dialed, pattern(1, 200));
    let mut held: Vec<RecvBuf> = Vec::new();
    let mut sent = false;
    hosts.settle(|_, _, event| match event {
        Event::Received { buf, .. } => held.push(buf),
        Event::Sent { .. } => sent = true,
        other => panic!("{other:?}"),
    });
    // Its quota of buffers is out, the pipe is full, and time does not help.
    assert!(!sent && held.len() == 2);
    assert_eq!(hosts.reactors[1].stats().quota_pauses, 1);
    let mut got = Vec::new();
    for buf in held {
        got.extend_from_slice(hosts.reactors[1].bytes(&buf));
        hosts.reactors[1].recycle(buf);
    }
    let (events, rest) = hosts.events();
    assert!(matches!(
        &events[..],
        [(0, Event::Sent { result: Ok(()), .. })]
    ));
    got.extend_from_slice(&rest[1]);
    assert_eq!(got, pattern(1, 200));
}

#[test]
fn an_exhausted_pool_starves_nobody_for_ever() {
    let mut hosts = Hosts::new(1, tight(), 2);
    let (_, address) = hosts.listen(1);
    for stream in 0..3 {
        let socket = hosts.connect(0, &address);
        hosts.reactors[0].send(socket, pattern(stream, 64));
    }
    let mut held: Vec<RecvBuf> = Vec::new();
    hosts.settle(|_, reactor, event| match event {
        Event::Accepted { fd, .. } => drop(reactor.adopt(fd, &SocketOptions::default()).unwrap()),
        Event::Received { buf, .. } => held.push(buf),
        Event::Connected { .. } | Event::Sent { .. } => {}
        other => panic!("{other:?}"),
    });
    assert_eq!(held.len(), 4);
    assert!(hosts.reactors[1].stats().enobufs > 0);
    let mut count: usize = held.iter().map(RecvBuf::len).sum();
    for buf in held {
        hosts.reactors[1].recycle(buf);
    }
    count += hosts.events().1[1].len();
    assert_eq!(count, 3 * 64);
    assert_eq!(hosts.reactors[1].stats().buffers_held, 0);
}

#[test]
fn sockets_have_a_limit() {
    let mut hosts = Hosts::new(1, tight(), 1);
    let nowhere = "10.0.0.9:80".parse().unwrap();
    for _ in 0..3 {
        hosts.connect(0, &nowhere);
    }
    let refused = hosts.reactors[0]
        .connect(&nowhere, &SocketOptions::default())
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
    hosts.events();
    hosts.connect(0, &nowhere);
}

#[test]
fn a_full_turn_leaves_the_rest_for_the_next() {
    let driver = DriverConfig {
        events_per_turn_max: 2,
        ..DriverConfig::server()
    };
    let mut hosts = Hosts::new(
        1,
        SimConfig {
            driver,
            ..SimConfig::calm()
        },
        2,
    );
    let (_, address) = hosts.listen(1);
    for stream in 0..8 {
        let socket = hosts.connect(0, &address);
        hosts.reactors[0].send(socket, pattern(stream, 10));
    }
    let mut got = 0;
    hosts.settle(|_, reactor, event| match event {
        Event::Accepted { fd, .. } => drop(reactor.adopt(fd, &SocketOptions::default()).unwrap()),
        Event::Received { buf, .. } => {
            got += buf.len();
            reactor.recycle(buf);
        }
        _ => {}
    });
    assert_eq!(got, 80);
}
