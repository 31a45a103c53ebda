//! Listeners: their end, their conflicts, and descriptors that change threads.

use std::collections::HashSet;
use std::io;
use std::net::TcpStream;

use ringmain_reactor::{Address, DriverConfig, Event, ListenOptions, Reactor, SocketOptions};

use crate::net::{Factory, Net, dial, unexpected};

pub(crate) fn queued_connections_are_accepted_before_the_end<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (listener, address) = net.listen();
    let clients: Vec<_> = (0..20).map(|_| dial(&address)).collect();
    net.driver.unlisten(listener);
    net.driver.unlisten(listener);
    let mut peers = HashSet::new();
    net.until(|_, event| match event {
        Event::Accepted {
            listener: from,
            peer,
            ..
        } => {
            assert_eq!(from, listener);
            peers.insert(peer.unwrap());
            (peers.len() == clients.len()).then_some(())
        }
        other => unexpected(&other),
    });
    let expect: HashSet<_> = clients
        .iter()
        .map(|client| Address::Ip(client.local_addr().unwrap()))
        .collect();
    assert_eq!(peers, expect);
    while net.driver.in_flight() > 0 {
        net.turn(std::time::Duration::from_millis(10));
    }
    let Address::Ip(addr) = address else {
        panic!("{address}")
    };
    let error = TcpStream::connect(addr).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    net.end();
}

pub(crate) fn taken_port<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (first, address) = net.listen();
    let error = net
        .driver
        .listen(&address, &ListenOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    net.driver.unlisten(first);
    while net.driver.in_flight() > 0 {
        net.turn(std::time::Duration::from_millis(10));
    }
    let shared = ListenOptions {
        reuse_port: true,
        ..ListenOptions::default()
    };
    let (one, _) = net.driver.listen(&address, &shared).unwrap();
    let (two, _) = net.driver.listen(&address, &shared).unwrap();
    assert_ne!(one, two);
    net.driver.unlisten(one);
    net.driver.unlisten(two);
    net.end();
}

pub(crate) fn handed_over_descriptors<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (listener, address) = net.listen();
    let mut client = dial(&address);
    let fd = net.until(|_, event| match event {
        Event::Accepted { fd, .. } => Some(fd),
        other => unexpected(&other),
    });
    std::thread::spawn(move || {
        let Some(mut other) = Net::new::<F>(&DriverConfig::server()) else {
            return;
        };
        let socket = other.driver.adopt(fd, &SocketOptions::default()).unwrap();
        other.driver.send(socket, b"from the other thread".to_vec());
        other.until(|_, event| match event {
            Event::Sent { result, .. } => result.ok(),
            other => unexpected(&other),
        });
        other.close_all(&[socket]);
        other.end();
    })
    .join()
    .unwrap();
    let mut text = String::new();
    io::Read::read_to_string(&mut client, &mut text).unwrap();
    assert_eq!(text, "from the other thread");
    net.driver.unlisten(listener);
    net.end();
}
