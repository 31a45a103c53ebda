use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::ring::Completion;
use super::slot::socket_token;
use super::token::{Op, Token};
use super::*;
use crate::wake::WakerKind;

/// `IORING_CQE_F_BUFFER`, with the buffer's number above it.
const fn with_buffer(buffer: u32) -> u32 {
    1 | buffer << 16
}

/// `IORING_CQE_F_MORE`.
const MORE: u32 = 2;

fn driver(config: &DriverConfig) -> Option<Uring> {
    match Uring::new(config) {
        Ok(driver) => Some(driver),
        Err(error) if std::env::var_os("RINGMAIN_ALLOW_NO_URING").is_some() => {
            eprintln!("NOT TESTED: io_uring is refused on this host: {error}");
            None
        }
        Err(error) => panic!("io_uring is refused on this host: {error}"),
    }
}

fn with_peer(driver: &mut Uring) -> (SocketId, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let ours = listener.accept().unwrap().0;
    (
        driver
            .adopt(ours.into(), &SocketOptions::default())
            .unwrap(),
        peer,
    )
}

fn next(driver: &mut Uring) -> Event {
    for _ in 0..1000 {
        if let Some(event) = driver.next_event() {
            return event;
        }
        driver
            .turn(Some(Instant::now() + Duration::from_millis(50)))
            .unwrap();
    }
    panic!("no event: {:?}", driver.stats());
}

#[test]
fn a_failed_receive_uses_no_buffer_whatever_its_flags_say() {
    let Some(mut driver) = driver(&DriverConfig::server()) else {
        return;
    };
    let (socket, _peer) = with_peer(&mut driver);
    let token = socket_token(Op::Recv, socket);
    let free = driver.bufs.free();
    driver.on_completion(Completion::forged(token, -libc::ECONNRESET, with_buffer(3)));
    assert_eq!(driver.bufs.free(), free);
    assert!(matches!(driver.next_event(), Some(Event::Failed { .. })));
    // Nothing was submitted, so the driver's books being wrong by one now is harmless.
}

#[test]
fn a_buffer_that_is_out_is_not_reported_again() {
    let Some(mut driver) = driver(&DriverConfig::server()) else {
        return;
    };
    let (one, mut peer) = with_peer(&mut driver);
    let (two, _other) = with_peer(&mut driver);
    peer.write_all(b"mine").unwrap();
    let Event::Received { socket, buf } = next(&mut driver) else {
        panic!("no bytes")
    };
    assert_eq!(socket, one);
    let flags = with_buffer(buf.index) | MORE;
    let forged = Completion::forged(socket_token(Op::Recv, two), 4, flags);
    driver.on_completion(forged);
    driver.on_completion(forged);
    let Some(Event::Failed { socket, error }) = driver.next_event() else {
        panic!("not noticed")
    };
    assert_eq!(socket, two);
    assert!(error.to_string().contains("buffer that was out"), "{error}");
    assert!(driver.next_event().is_none(), "it fails once");
    assert_eq!(driver.bytes(&buf), b"mine");
    driver.recycle(buf);
    assert_eq!(driver.stats().buffers_free, driver.stats().buffers_total);
}

#[test]
fn completions_of_nothing_known_are_counted_and_ignored() {
    let Some(mut driver) = driver(&DriverConfig::server()) else {
        return;
    };
    let ops = [
        Op::Recv,
        Op::Send,
        Op::Connect,
        Op::Cancel,
        Op::Accept,
        Op::AcceptCancel,
        Op::Poll,
        Op::PollCancel,
    ];
    for (count, op) in (1..).zip(ops) {
        let token = Token::new(op, 9, 9).encode();
        driver.on_completion(Completion::forged(token, -libc::EIO, 0));
        assert_eq!(driver.stats().stale, count, "{op:?}");
    }
    // Bytes for a socket that is gone go straight back.
    let token = Token::new(Op::Recv, 9, 9).encode();
    driver.on_completion(Completion::forged(token, 5, with_buffer(1) | MORE));
    driver.on_completion(Completion::forged(u64::MAX, 0, 0));
    assert_eq!(driver.stats().stale, 10);
    assert!(driver.next_event().is_none());
    assert_eq!((driver.bufs.held(), driver.in_flight()), (0, 0));
}

#[test]
fn a_send_that_is_taken_in_parts_is_continued() {
    let Some(mut driver) = driver(&DriverConfig::server()) else {
        return;
    };
    let (socket, mut peer) = with_peer(&mut driver);
    let bytes: Vec<u8> = (0..10_000u32).map(|step| step as u8).collect();
    driver.send(socket, bytes.clone());
    let Event::Sent { buf, result, .. } = next(&mut driver) else {
        panic!("not sent")
    };
    result.unwrap();
    assert_eq!(buf, bytes);
    assert_eq!(driver.stats().sends_continued, 9);
    assert_eq!(driver.stats().send_bytes, 10_000);
    let mut heard = vec![0; bytes.len()];
    peer.read_exact(&mut heard).unwrap();
    assert_eq!(heard, bytes);
}

#[test]
fn a_send_before_the_connection_waits_for_it() {
    let Some(mut driver) = driver(&DriverConfig::server()) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Ip(listener.local_addr().unwrap());
    let socket = driver.connect(&address, &SocketOptions::default()).unwrap();
    driver.send(socket, b"early".to_vec());
    assert!(matches!(next(&mut driver), Event::Connected { .. }));
    assert!(matches!(
        next(&mut driver),
        Event::Sent { result: Ok(()), .. }
    ));
    let mut heard = [0; 5];
    listener.accept().unwrap().0.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"early");
}

#[test]
#[should_panic(expected = "one send in flight per socket")]
fn a_second_send_is_a_bug_of_the_caller() {
    let Some(mut driver) = driver(&DriverConfig::server()) else {
        panic!("one send in flight per socket")
    };
    let (socket, _peer) = with_peer(&mut driver);
    driver.send(socket, vec![1]);
    driver.send(socket, vec![2]);
}

#[test]
fn the_wake_primitive_follows_the_configuration() {
    let config = DriverConfig {
        msg_ring: false,
        ..DriverConfig::server()
    };
    let Some(eventfd) = driver(&config) else {
        return;
    };
    assert_eq!(eventfd.waker().kind(), WakerKind::Eventfd);
    let Some(ring) = driver(&DriverConfig::server()) else {
        return;
    };
    // Kernels before 6.13 have the other one.
    assert!(matches!(
        ring.waker().kind(),
        WakerKind::MsgRing | WakerKind::Eventfd
    ));
    assert!(
        ring.describe()
            .ends_with(&format!("wake={}", ring.waker().kind()))
    );
}

#[test]
fn a_kernel_that_does_not_let_go_keeps_the_memory() {
    let config = DriverConfig {
        shutdown_wait: Duration::ZERO,
        ..DriverConfig::server()
    };
    let Some(mut driver) = driver(&config) else {
        return;
    };
    let (socket, peer) = with_peer(&mut driver);
    driver.send(socket, vec![7; 8 << 20]);
    driver.turn(Some(driver.now())).unwrap();
    let before = leaked_operations();
    drop(driver);
    assert!(leaked_operations() > before);
    drop(peer);
}

#[test]
fn a_deadline_that_moves_away_sets_one_timer() {
    let Some(mut driver) = driver(&DriverConfig::server()) else {
        return;
    };
    let (_socket, mut peer) = with_peer(&mut driver);
    for _ in 0..20 {
        peer.write_all(b"news").unwrap();
        // What arrives ends each wait; what is due moves away with it.
        let due = Instant::now() + Duration::from_secs(60);
        while driver.next_event().is_none() {
            driver.turn(Some(due)).unwrap();
        }
    }
    assert_eq!(driver.stats().wait_timers, 1);
}

#[test]
fn a_timer_that_is_set_for_later_delays_nobody() {
    let Some(mut driver) = driver(&DriverConfig::server()) else {
        return;
    };
    let waker = driver.waker();
    let later = Instant::now() + Duration::from_secs(60);
    waker.wake();
    driver.turn(Some(later)).unwrap();
    for wait in [Duration::from_millis(20), Duration::from_millis(1)] {
        let due = Instant::now() + wait;
        while Instant::now() < due {
            driver.turn(Some(due)).unwrap();
        }
        assert!(due.elapsed() < Duration::from_secs(10), "it slept on");
    }
}
