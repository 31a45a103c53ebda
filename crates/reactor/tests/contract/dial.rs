//! Dials that fail, end early, or have options.

use std::net::TcpListener;
use std::os::fd::OwnedFd;

use ringmain_reactor::{Address, DriverConfig, Event, Reactor, SocketId, SocketOptions};

use crate::net::{Factory, Net, unexpected};

fn expect_failure<F: Factory>(address: &Address, kinds: &[std::io::ErrorKind]) {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    for _ in 0..20 {
        let dialed = match net.driver.connect(address, &SocketOptions::default()) {
            Ok(dialed) => dialed,
            // A driver may know at once.
            Err(error) => {
                assert!(kinds.contains(&error.kind()), "{error}");
                continue;
            }
        };
        net.until(|_, event| match event {
            Event::ConnectFailed { socket, error } => {
                assert_eq!(socket, dialed);
                assert!(kinds.contains(&error.kind()), "{error}");
                Some(())
            }
            other => unexpected(&other),
        });
        // The id is dead.
        net.driver.close(dialed);
        net.driver.send(dialed, vec![1]);
        net.nothing_happens();
    }
    assert_eq!(net.driver.in_flight(), 0);
    net.end();
}

pub(crate) fn refused<F: Factory>() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Ip(listener.local_addr().unwrap());
    drop(listener);
    expect_failure::<F>(&address, &[std::io::ErrorKind::ConnectionRefused]);
}

pub(crate) fn no_such_path<F: Factory>() {
    let path = std::env::temp_dir().join(format!("ringmain-{}-nowhere", std::process::id()));
    expect_failure::<F>(&Address::Unix(path), &[std::io::ErrorKind::NotFound]);
}

pub(crate) fn closed_before_connected<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Ip(listener.local_addr().unwrap());
    for _ in 0..50 {
        let dialed = net.connect(&address);
        net.driver.close(dialed);
        // It may have connected in time, and is closed all the same.
        net.until(|_, event| match event {
            Event::Closed { socket, buf: None } if socket == dialed => Some(()),
            Event::Connected { socket } if socket == dialed => None,
            other => unexpected(&other),
        });
    }
    net.end();
}

pub(crate) fn options_are_applied<F: Factory>() {
    let options = SocketOptions {
        recv_buffer_bytes: Some(8192),
        send_buffer_bytes: Some(8192),
        ..SocketOptions::default()
    };
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (ours, _peer) = crate::net::stream_pair();
    let watched = OwnedFd::try_clone(&ours).unwrap();
    let socket: SocketId = net.driver.adopt(ours, &options).unwrap();
    let watched = socket2::SockRef::from(&watched);
    assert!(watched.tcp_nodelay().unwrap());
    assert!(watched.nonblocking().unwrap());
    // The kernel doubles what is asked for.
    assert_eq!(watched.recv_buffer_size().unwrap(), 16_384);
    assert_eq!(watched.send_buffer_size().unwrap(), 16_384);
    net.close_all(&[socket]);
    net.end();
}
