//! Receive buffers: none left, one socket with too many, all given back.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use ringmain_reactor::{DriverConfig, Event, Reactor, RecvBuf, SocketId, SocketOptions};

use crate::net::{Factory, Net, pattern, unexpected, write_some};

fn config(buffers: u16, per_socket: u16) -> DriverConfig {
    DriverConfig {
        recv_buffers: buffers,
        recv_buffer_bytes: 128,
        recv_buffers_per_socket_max: per_socket,
        ..DriverConfig::server()
    }
}

pub(crate) fn held_to_the_last_one<F: Factory>() {
    const BYTES: usize = 10_000;
    let Some(mut net) = Net::new::<F>(&config(16, 16)) else {
        return;
    };
    let mut expect = HashMap::new();
    let mut peers = Vec::new();
    for seed in 0..12 {
        let (socket, peer) = net.with_peer(&SocketOptions::default());
        expect.insert(socket, pattern(seed, BYTES));
        assert_eq!(write_some(&peer, &pattern(seed, BYTES)), BYTES);
        peers.push(peer);
    }
    let mut got: HashMap<SocketId, Vec<u8>> = HashMap::new();
    let mut held: VecDeque<RecvBuf> = VecDeque::new();
    let mut take = |net: &mut Net<F::Driver>, held: &mut VecDeque<RecvBuf>| {
        while let Some(event) = net.driver.next_event() {
            let Event::Received { socket, buf } = event else {
                unexpected(&event)
            };
            got.entry(socket)
                .or_default()
                .extend_from_slice(net.driver.bytes(&buf));
            held.push_back(buf);
        }
        got.values().map(Vec::len).sum::<usize>()
    };
    let mut total = 0;
    while total < BYTES * expect.len() {
        // Holds every buffer until nothing comes any more, then gives some back.
        while held.len() < 16 && total < BYTES * expect.len() {
            net.turn(Duration::from_millis(50));
            total = take(&mut net, &mut held);
        }
        if held.len() == 16 {
            assert_eq!(net.driver.stats().buffers_free, 0);
            net.nothing_happens();
        }
        for _ in 0..11.min(held.len()) {
            net.driver.recycle(held.pop_front().unwrap());
        }
    }
    assert!(got == expect, "a foreign or missing byte");
    for buf in held {
        net.driver.recycle(buf);
    }
    let sockets: Vec<_> = expect.keys().copied().collect();
    net.close_all(&sockets);
    net.end();
}

pub(crate) fn busy_socket_pauses_at_its_quota<F: Factory>() {
    const BYTES: usize = 60_000;
    let Some(mut net) = Net::new::<F>(&config(16, 4)) else {
        return;
    };
    let (busy, busy_peer) = net.with_peer(&SocketOptions::default());
    let (calm, calm_peer) = net.with_peer(&SocketOptions::default());
    let bytes = pattern(1, BYTES);
    assert_eq!(write_some(&busy_peer, &bytes), BYTES);
    let mut got = Vec::new();
    let mut held = VecDeque::new();
    // The busy socket's buffers are kept, so it has to stop before it has them all.
    for _ in 0..20 {
        net.turn(Duration::from_millis(1));
        while let Some(event) = net.driver.next_event() {
            let Event::Received { socket, buf } = event else {
                unexpected(&event)
            };
            assert_eq!(socket, busy);
            got.extend_from_slice(net.driver.bytes(&buf));
            held.push_back(buf);
        }
    }
    while held.len() > 4 {
        net.driver.recycle(held.pop_front().unwrap());
    }
    // Still at its quota: it must not take the buffers that the other one needs.
    for _ in 0..10 {
        write_some(&calm_peer, b"calm");
        let heard = net.until(|driver, event| match event {
            Event::Received { socket, buf } if socket == calm => {
                let bytes = driver.bytes(&buf).to_vec();
                driver.recycle(buf);
                Some(bytes)
            }
            other => unexpected(&other),
        });
        assert_eq!(heard, b"calm");
    }
    assert!(net.driver.stats().quota_pauses > 0);
    for buf in held {
        net.driver.recycle(buf);
    }
    got.extend(net.receive(busy, BYTES - got.len()));
    assert!(got == bytes);
    net.close_all(&[busy, calm]);
    net.end();
}

pub(crate) fn quick_recycling_never_pauses<F: Factory>() {
    const BYTES: usize = 200_000;
    let Some(mut net) = Net::new::<F>(&config(64, 8)) else {
        return;
    };
    let (socket, peer) = net.with_peer(&SocketOptions::default());
    let bytes = pattern(2, BYTES);
    let mut written = 0;
    peer.set_nonblocking(true).unwrap();
    let mut got = Vec::new();
    while got.len() < BYTES {
        written += write_some(&peer, &bytes[written..]);
        net.turn(Duration::from_millis(1));
        while let Some(event) = net.driver.next_event() {
            let Event::Received { buf, .. } = event else {
                unexpected(&event)
            };
            got.extend_from_slice(net.driver.bytes(&buf));
            net.driver.recycle(buf);
        }
    }
    assert!(got == bytes);
    net.close_all(&[socket]);
    net.end();
}
