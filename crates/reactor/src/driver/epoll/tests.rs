use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::*;
use crate::config::IdlePolicy;

fn small() -> DriverConfig {
    DriverConfig {
        recv_buffers: 8,
        recv_buffer_bytes: 16,
        recv_buffers_per_socket_max: 4,
        ..DriverConfig::server()
    }
}

/// A driver with one adopted socket, and the peer of that socket.
fn pair(config: &DriverConfig) -> (Epoll, SocketId, TcpStream) {
    let mut epoll = Epoll::new(config).unwrap();
    let (socket, peer) = add_pair(&mut epoll);
    (epoll, socket, peer)
}

fn add_pair(epoll: &mut Epoll) -> (SocketId, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    let socket = epoll
        .adopt(accepted.into(), &SocketOptions::default())
        .unwrap();
    (socket, peer)
}

/// Turns until `pick` takes an event; other events must not come.
fn expect<T>(epoll: &mut Epoll, pick: impl Fn(Event) -> Result<T, Event>) -> T {
    loop {
        while let Some(event) = epoll.next_event() {
            return pick(event).unwrap();
        }
        epoll.turn(None).unwrap();
    }
}

fn received(epoll: &mut Epoll) -> RecvBuf {
    expect(epoll, |event| match event {
        Event::Received { buf, .. } => Ok(buf),
        other => Err(other),
    })
}

fn no_events(epoll: &mut Epoll) {
    let past = epoll.now();
    for _ in 0..3 {
        epoll.turn(Some(past)).unwrap();
        assert!(epoll.next_event().is_none());
    }
}

#[test]
fn bytes_go_both_ways_and_a_close_ends_it() {
    let (mut epoll, socket, mut peer) = pair(&small());
    peer.write_all(b"question").unwrap();
    let buf = received(&mut epoll);
    assert_eq!(epoll.bytes(&buf), b"question");
    epoll.recycle(buf);
    epoll.send(socket, b"answer".to_vec());
    let (buf, result) = expect(&mut epoll, |event| match event {
        Event::Sent { buf, result, .. } => Ok((buf, result)),
        other => Err(other),
    });
    assert_eq!(buf, b"answer");
    result.unwrap();
    epoll.close(socket);
    epoll.close(socket);
    expect(&mut epoll, |event| match event {
        Event::Closed { buf: None, .. } => Ok(()),
        other => Err(other),
    });
    assert_eq!(epoll.in_flight(), 0);
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "answer");
}
