use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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

fn next(epoll: &mut Epoll) -> Event {
    loop {
        if let Some(event) = epoll.next_event() {
            return event;
        }
        epoll.turn(None).unwrap();
    }
}

fn received(epoll: &mut Epoll) -> (SocketId, RecvBuf) {
    match next(epoll) {
        Event::Received { socket, buf } => (socket, buf),
        other => panic!("{other:?}"),
    }
}

fn sent(epoll: &mut Epoll) -> (Vec<u8>, io::Result<()>) {
    match next(epoll) {
        Event::Sent { buf, result, .. } => (buf, result),
        other => panic!("{other:?}"),
    }
}

/// Whatever a few turns that do not wait bring.
fn events_at_hand(epoll: &mut Epoll) -> Vec<Event> {
    let past = epoll.now();
    let mut events = Vec::new();
    for _ in 0..3 {
        epoll.turn(Some(past)).unwrap();
        events.extend(std::iter::from_fn(|| epoll.next_event()));
    }
    events
}

#[test]
fn bytes_go_both_ways_and_a_close_ends_it() {
    let (mut epoll, socket, mut peer) = pair(&small());
    peer.write_all(b"question").unwrap();
    let (_, buf) = received(&mut epoll);
    assert_eq!(epoll.bytes(&buf), b"question");
    epoll.recycle(buf);
    epoll.send(socket, b"answer".to_vec());
    let (buf, result) = sent(&mut epoll);
    assert_eq!(buf, b"answer");
    result.unwrap();
    epoll.close(socket);
    epoll.close(socket);
    assert!(matches!(next(&mut epoll), Event::Closed { buf: None, .. }));
    assert_eq!(epoll.in_flight(), 0);
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "answer");
}

#[test]
fn a_close_with_unread_input_does_not_destroy_what_was_sent() {
    let (mut epoll, socket, mut peer) = pair(&small());
    let answer = vec![7; 200_000];
    epoll.send(socket, answer.clone());
    peer.write_all(&[1; 100]).unwrap();
    let (mut buf, mut result) = (Vec::new(), None);
    while result.is_none() {
        match next(&mut epoll) {
            Event::Sent {
                buf: back,
                result: outcome,
                ..
            } => {
                (buf, result) = (back, Some(outcome));
            }
            Event::Received { buf, .. } => epoll.recycle(buf),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(buf, answer);
    result.unwrap().unwrap();
    peer.write_all(&[1; 100]).unwrap();
    epoll.close(socket);
    let mut got = Vec::new();
    peer.read_to_end(&mut got).unwrap();
    assert_eq!(got, answer);
}

#[test]
fn a_slot_is_not_used_again_before_its_owner_knows() {
    let (mut epoll, first, _peer) = pair(&small());
    epoll.close(first);
    let (second, _other) = add_pair(&mut epoll);
    assert_ne!(second.index(), first.index());
    assert!(matches!(next(&mut epoll), Event::Closed { socket, .. } if socket == first));
    let (third, _third_peer) = add_pair(&mut epoll);
    assert_eq!(third.index(), first.index());
    // The old id names nothing any more.
    epoll.send(first, b"lost".to_vec());
    epoll.close(first);
    assert!(events_at_hand(&mut epoll).is_empty());
    assert_eq!(epoll.in_flight(), 2);
}

#[test]
fn a_send_without_room_waits_and_a_close_gives_it_back() {
    let (mut epoll, socket, mut peer) = pair(&small());
    let big = vec![9; 64 << 20];
    epoll.send(socket, big.clone());
    assert!(events_at_hand(&mut epoll).is_empty());
    assert!(epoll.stats().sends_continued > 0);
    let reader = std::thread::spawn(move || {
        let mut got = vec![0; 64 << 20];
        peer.read_exact(&mut got).unwrap();
        (peer, got.iter().all(|&byte| byte == 9))
    });
    let (buf, result) = sent(&mut epoll);
    assert!(buf == big && result.is_ok());
    assert_eq!(epoll.stats().send_bytes, big.len() as u64);
    let (_peer, is_whole) = reader.join().unwrap();
    assert!(is_whole);
    epoll.send(socket, buf);
    epoll.close(socket);
    match next(&mut epoll) {
        Event::Closed { buf: Some(buf), .. } => assert!(buf == big),
        other => panic!("{other:?}"),
    }
}

#[test]
#[should_panic(expected = "in flight already")]
fn a_second_send_before_the_first_was_reported_is_a_bug() {
    let (mut epoll, socket, _peer) = pair(&small());
    epoll.send(socket, b"one".to_vec());
    epoll.send(socket, b"two".to_vec());
}

#[test]
fn held_buffers_pause_their_socket_and_nobody_else() {
    let (mut epoll, greedy, mut greedy_peer) = pair(&small());
    let (modest, mut modest_peer) = add_pair(&mut epoll);
    greedy_peer.write_all(&[1; 16 * 6]).unwrap();
    let mut held = Vec::new();
    while held.len() < 4 {
        held.push(received(&mut epoll).1);
    }
    assert!(events_at_hand(&mut epoll).is_empty());
    assert_eq!(epoll.stats().quota_pauses, 1);
    // Paused means not watched: the unread bytes do not make the driver spin.
    let turn_calls = epoll.stats().syscalls;
    let soon = Instant::now() + Duration::from_millis(1);
    epoll.turn(Some(soon)).unwrap();
    assert!(epoll.now() >= soon && epoll.stats().syscalls == turn_calls + 1);
    modest_peer.write_all(&[2; 16]).unwrap();
    let (socket, buf) = received(&mut epoll);
    assert_eq!(socket, modest);
    epoll.recycle(buf);
    for buf in held {
        epoll.recycle(buf);
    }
    for _ in 0..2 {
        let (socket, buf) = received(&mut epoll);
        assert_eq!((socket, buf.len()), (greedy, 16));
        epoll.recycle(buf);
    }
    assert_eq!(
        (epoll.stats().buffers_held, epoll.stats().buffers_free),
        (0, 8)
    );
}

#[test]
fn an_exhausted_pool_is_shared_out_in_turn() {
    let config = DriverConfig {
        recv_buffers: 2,
        recv_buffers_per_socket_max: 2,
        ..small()
    };
    let mut epoll = Epoll::new(&config).unwrap();
    let mut peers: Vec<_> = (0..5).map(|_| add_pair(&mut epoll)).collect();
    for (_, peer) in &mut peers {
        peer.write_all(&[3; 64]).unwrap();
    }
    // One buffer stays away for good, so that the other is all there is.
    let (_, kept) = received(&mut epoll);
    let mut served = vec![0; peers.len()];
    for _ in 0..19 {
        let (socket, buf) = received(&mut epoll);
        served[socket.index() as usize] += buf.len();
        epoll.recycle(buf);
    }
    served[kept.owner.index() as usize] += kept.len();
    assert_eq!(served, [64; 5]);
    assert!(epoll.stats().enobufs > 0);
    epoll.recycle(kept);
}

#[test]
fn without_descriptors_accepting_pauses_and_goes_on() {
    let config = DriverConfig {
        accept_backoff: Duration::from_millis(5),
        ..small()
    };
    let mut epoll = Epoll::new(&config).unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let (listener, address) = epoll.listen(&any, &ListenOptions::default()).unwrap();
    let Address::Ip(address) = address else {
        panic!("{address:?}")
    };
    let mut peer = TcpStream::connect(address).unwrap();
    // A process of its own under nextest; elsewhere a limit this low would disturb other tests.
    let limit = getrlimit(Resource::Nofile);
    if std::env::var_os("NEXTEST").is_none() {
        return;
    }
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(3),
            maximum: limit.maximum,
        },
    )
    .unwrap();
    match next(&mut epoll) {
        Event::AcceptFailed { error, .. } => {
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        }
        other => panic!("{other:?}"),
    }
    let calls = epoll.stats().syscalls;
    assert!(matches!(next(&mut epoll), Event::AcceptFailed { .. }));
    assert!(epoll.stats().syscalls - calls < 10, "spun while it paused");
    setrlimit(Resource::Nofile, limit).unwrap();
    let Event::Accepted {
        fd, peer: Some(_), ..
    } = next(&mut epoll)
    else {
        panic!()
    };
    let socket = epoll.adopt(fd, &SocketOptions::default()).unwrap();
    peer.write_all(b"still here").unwrap();
    let (from, buf) = received(&mut epoll);
    assert_eq!((from, epoll.bytes(&buf)), (socket, &b"still here"[..]));
    epoll.recycle(buf);
    epoll.unlisten(listener);
    epoll.close(socket);
    next(&mut epoll);
    assert_eq!(epoll.in_flight(), 0);
}

#[test]
fn what_is_queued_when_listening_ends_is_still_accepted() {
    let mut epoll = Epoll::new(&small()).unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let (listener, address) = epoll.listen(&any, &ListenOptions::default()).unwrap();
    let Address::Ip(address) = address else {
        panic!("{address:?}")
    };
    let _peers: Vec<_> = (0..3)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    epoll.unlisten(listener);
    epoll.unlisten(listener);
    for _ in 0..3 {
        assert!(matches!(next(&mut epoll), Event::Accepted { .. }));
    }
    assert_eq!(epoll.in_flight(), 0);
    let refused = TcpStream::connect(address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_wake_from_another_thread_ends_the_wait() {
    for idle in [
        IdlePolicy::Park,
        IdlePolicy::Adaptive { spin_us: 50 },
        IdlePolicy::Spin,
    ] {
        let mut epoll = Epoll::new(&DriverConfig { idle, ..small() }).unwrap();
        // Sent before the wait: the next one returns at once.
        epoll.waker().wake();
        epoll.turn(None).unwrap();
        let waker = epoll.waker();
        let other = std::thread::spawn(move || waker.wake());
        while epoll.stats().wakes < 2 {
            epoll.turn(None).unwrap();
        }
        other.join().unwrap();
        // Both were taken: nothing is left to end this one early.
        let soon = Instant::now() + Duration::from_micros(50);
        epoll.turn(Some(soon)).unwrap();
        assert!(epoll.now() >= soon, "{idle:?}");
    }
}

#[test]
fn a_polled_descriptor_is_reported_until_it_is_read() {
    let mut epoll = Epoll::new(&small()).unwrap();
    let bell = new_eventfd().unwrap();
    let poll = epoll.poll_fd(bell.try_clone().unwrap()).unwrap();
    assert!(events_at_hand(&mut epoll).is_empty());
    rustix::io::write(&bell, &1u64.to_ne_bytes()).unwrap();
    for _ in 0..2 {
        assert!(matches!(next(&mut epoll), Event::Readable { poll: id } if id == poll));
    }
    assert!(crate::wake::drain_eventfd(&bell));
    assert!(events_at_hand(&mut epoll).is_empty());
    rustix::io::write(&bell, &1u64.to_ne_bytes()).unwrap();
    epoll.unpoll(poll);
    epoll.unpoll(poll);
    assert!(events_at_hand(&mut epoll).is_empty());
    assert_eq!(epoll.in_flight(), 0);
}

#[test]
fn a_reset_is_told_once_and_then_costs_nothing() {
    let (mut epoll, socket, peer) = pair(&small());
    let linger = Some(Duration::ZERO);
    SockRef::from(&peer).set_linger(linger).unwrap();
    drop(peer);
    match next(&mut epoll) {
        Event::Failed { error, .. } => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        other => panic!("{other:?}"),
    }
    let soon = Instant::now() + Duration::from_millis(1);
    epoll.turn(Some(soon)).unwrap();
    assert!(epoll.now() >= soon && epoll.next_event().is_none());
    epoll.send(socket, b"too late".to_vec());
    assert!(sent(&mut epoll).1.is_err());
    epoll.close(socket);
    assert!(matches!(next(&mut epoll), Event::Closed { .. }));
}

#[test]
fn sockets_have_a_limit() {
    let config = DriverConfig {
        sockets_max: 1,
        ..small()
    };
    let (mut epoll, socket, peer) = pair(&config);
    let address = Address::Ip(peer.peer_addr().unwrap());
    let refused = epoll
        .connect(&address, &SocketOptions::default())
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
    epoll.close(socket);
    next(&mut epoll);
    epoll.connect(&address, &SocketOptions::default()).unwrap();
    assert_eq!(epoll.stats().sockets_refused, 1);
}
