//! Whole runs from a seed: equal seeds are equal runs, and no seed breaks the event protocol.

use std::collections::BTreeMap;

use ringmain_reactor::driver::sim::{Partition, SimConfig, SimReactor, SimTrace};
use ringmain_reactor::{Event, Reactor, SocketId, SocketOptions};

use crate::harness::{Hosts, pattern};

const HOSTS: usize = 3;
const DIALS: usize = 24;
const MESSAGE_BYTES: usize = 6000;

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    trace: SimTrace,
    echoed: usize,
    bytes: usize,
    broken: usize,
}

/// What the owner of a socket was told.
#[derive(Debug, Default)]
struct Told {
    dialed: bool,
    connected: bool,
    ended: bool,
    got: Vec<u8>,
    sending: bool,
    closing: bool,
}

/// Dials, echoes and checks; each host is client of the next and server of the one before.
struct Owner {
    sockets: Vec<BTreeMap<SocketId, Told>>,
    echoed: usize,
    bytes: usize,
    broken: usize,
}

impl Owner {
    fn on_event(&mut self, host: usize, reactor: &mut SimReactor, event: Event) {
        let sockets = &mut self.sockets[host];
        match event {
            Event::Accepted { fd, .. } => {
                let socket = reactor.adopt(fd, &SocketOptions::default()).unwrap();
                let told = Told {
                    connected: true,
                    ..Told::default()
                };
                assert!(sockets.insert(socket, told).is_none());
            }
            Event::AcceptFailed { .. } => {}
            Event::Connected { socket } => {
                let told = sockets.get_mut(&socket).unwrap();
                assert!(told.dialed && !std::mem::replace(&mut told.connected, true));
            }
            Event::ConnectFailed { socket, .. } => {
                let told = sockets.remove(&socket).unwrap();
                assert!(!told.connected && !told.sending);
                self.broken += 1;
            }
            Event::Received { socket, buf } => {
                let bytes = reactor.bytes(&buf).to_vec();
                reactor.recycle(buf);
                let Some(told) = sockets.get_mut(&socket) else {
                    panic!("after Closed")
                };
                assert!(told.connected && !told.ended && !bytes.is_empty());
                self.bytes += bytes.len();
                told.got.extend_from_slice(&bytes);
                assert!(told.got == pattern(0, MESSAGE_BYTES)[..told.got.len()]);
                if told.got.len() == MESSAGE_BYTES && !told.closing {
                    if told.dialed {
                        self.echoed += 1;
                        told.closing = true;
                        reactor.close(socket);
                    } else {
                        told.sending = true;
                        reactor.send(socket, pattern(0, MESSAGE_BYTES));
                    }
                }
            }
            Event::Sent { socket, buf, .. } => {
                let told = sockets.get_mut(&socket).unwrap();
                assert!(std::mem::take(&mut told.sending) && buf.len() == MESSAGE_BYTES);
            }
            Event::Eof { socket } | Event::Failed { socket, .. } => {
                let told = sockets.get_mut(&socket).unwrap();
                assert!(!std::mem::replace(&mut told.ended, true));
                if !std::mem::replace(&mut told.closing, true) {
                    reactor.close(socket);
                }
            }
            Event::Closed { socket, buf } => {
                let told = sockets.remove(&socket).unwrap();
                assert!(told.closing && told.sending == buf.is_some());
            }
            Event::Readable { .. } => unreachable!("nothing is polled"),
        }
    }
}

fn run(seed: u64, config: SimConfig) -> Outcome {
    let mut hosts = Hosts::new(seed, config.clone(), HOSTS);
    let addresses: Vec<_> = (0..HOSTS).map(|host| hosts.listen(host)).collect();
    let mut owner = Owner {
        sockets: (0..HOSTS).map(|_| BTreeMap::new()).collect(),
        echoed: 0,
        bytes: 0,
        broken: 0,
    };
    for dial in 0..DIALS {
        let host = dial % HOSTS;
        let socket = hosts.connect(host, &addresses[(host + 1) % HOSTS].1);
        hosts.reactors[host].send(socket, pattern(0, MESSAGE_BYTES));
        let told = Told {
            dialed: true,
            sending: true,
            ..Told::default()
        };
        owner.sockets[host].insert(socket, told);
    }
    match seed % 3 {
        0 => hosts.net.partition("0", "1", Partition::Hold),
        1 => hosts.net.partition("1", "2", Partition::BlackHole),
        _ => {}
    }
    hosts.settle(|host, reactor, event| owner.on_event(host, reactor, event));
    // Time for it all to come to rest: what is left hangs on silent connections.
    hosts.net.set_config(config.without_breakage());
    hosts.net.heal_all();
    hosts.settle(|host, reactor, event| owner.on_event(host, reactor, event));
    for (host, reactor) in hosts.reactors.iter_mut().enumerate() {
        reactor.unlisten(addresses[host].0);
        for (&socket, told) in &mut owner.sockets[host] {
            if !std::mem::replace(&mut told.closing, true) {
                reactor.close(socket);
            }
        }
    }
    hosts.settle(|host, reactor, event| owner.on_event(host, reactor, event));
    assert!(
        owner.sockets.iter().all(BTreeMap::is_empty),
        "seed {seed}: {:?}",
        owner.sockets
    );
    assert!(
        hosts
            .reactors
            .iter()
            .all(|reactor| reactor.in_flight() == 0),
        "seed {seed}"
    );
    assert!(
        hosts
            .reactors
            .iter()
            .all(|reactor| reactor.stats().buffers_held == 0)
    );
    assert_eq!(hosts.net.connections(), 0, "seed {seed}");
    let Owner {
        echoed,
        bytes,
        broken,
        ..
    } = owner;
    Outcome {
        trace: hosts.net.trace(),
        echoed,
        bytes,
        broken,
    }
}

#[test]
fn equal_seeds_are_equal_runs() {
    let mut seen = BTreeMap::new();
    for seed in 0..12 {
        let outcome = run(seed, SimConfig::rough());
        assert_eq!(outcome, run(seed, SimConfig::rough()), "seed {seed}");
        seen.insert(outcome.trace.hash, seed);
    }
    assert_eq!(seen.len(), 12, "two seeds gave one run");
}

#[test]
fn a_quiet_network_loses_nothing() {
    for seed in (2..60).step_by(3) {
        let outcome = run(seed, SimConfig::choppy());
        assert_eq!((outcome.echoed, outcome.broken), (DIALS, 0), "seed {seed}");
        assert_eq!(outcome.bytes, 2 * DIALS * MESSAGE_BYTES, "seed {seed}");
    }
}

#[test]
fn a_rough_network_breaks_connections_and_no_rules() {
    let (mut echoed, mut broken, mut bytes) = (0, 0, 0);
    for seed in 0..150 {
        let outcome = run(seed, SimConfig::rough());
        echoed += outcome.echoed;
        broken += outcome.broken;
        bytes += outcome.bytes;
    }
    // It was rough, and yet something was compared.
    let dials = 150 * DIALS;
    assert!(echoed > dials / 10 && echoed < dials, "{echoed} of {dials}");
    assert!(broken > 0 && bytes > dials * MESSAGE_BYTES);
}
