//! Peers that break the rules pay for it alone.

use std::io::Write;
use std::net::{Shutdown, TcpStream};

use ringmain_codec::{Started, Status};
use ringmain_reactor::Address;
use ringmain_telemetry::{Counter, Gauge};
use ringmain_testkit::{
    COUNT, ECHO, HANG, PANIC, RawPeer, Seen, Worker, WorkerConfig, drivers, eventually,
};

/// Runs `hostile` against a worker beside a well-behaved peer, which must not notice.
fn beside_a_good_peer(hostile: impl Fn(&Worker)) {
    for io in drivers() {
        let worker = Worker::start(1, WorkerConfig::new(io));
        let mut good = RawPeer::ready(&worker.address);
        let open = good.open(HANG, b"").unwrap();
        good.until(|seen| matches!(seen, Seen::Data(..)));
        hostile(&worker);
        let echoed = good.open(ECHO, b"still here").unwrap();
        assert_eq!(
            good.answer(echoed),
            (b"still here".to_vec(), Status::Ok, Started::Yes)
        );
        good.connection.stop(open);
        good.flush();
        assert_eq!(good.answer(open).1, Status::Cancelled, "{io:?}");
        eventually("links are gone", || worker.gauge(Gauge::LinksOpen) == 1);
        eventually("streams are gone", || worker.gauge(Gauge::StreamsOpen) == 0);
    }
}

fn dial(worker: &Worker) -> TcpStream {
    let Address::Ip(address) = &worker.address else {
        panic!("TCP")
    };
    TcpStream::connect(address).unwrap()
}

#[test]
fn other_protocols_are_turned_away() {
    let tls_hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abcdefghijklmnop";
    let inputs: [&[u8]; 5] = [
        tls_hello,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        &[0; 64],
        &[0xff; 4096],
        b"PRI * HTTP/2.0",
    ];
    beside_a_good_peer(|worker| {
        for (count, input) in (1u64..).zip(inputs) {
            let mut peer = RawPeer::connect(&worker.address);
            peer.write(input).unwrap();
            peer.until_closed();
            eventually("it is counted", || {
                worker.counter(Counter::ProtocolErrors) == count
            });
        }
    });
}

#[test]
fn a_conversation_cut_at_every_byte_costs_itself_alone() {
    beside_a_good_peer(|worker| {
        let mut peer = RawPeer::connect(&worker.address);
        let hello = peer.transmit();
        peer.write(&hello).unwrap();
        peer.until(|seen| *seen == Seen::Ready);
        let stream = peer.open(COUNT, b"3 10").unwrap();
        assert_eq!(peer.answer(stream).1, Status::Ok);
        // The same bytes, cut short at each place.
        for cut in 0..hello.len() {
            let mut socket = dial(worker);
            socket.write_all(&hello[..cut]).unwrap();
            socket.shutdown(Shutdown::Both).unwrap();
        }
        drop(peer);
    });
}

#[test]
fn an_open_cut_at_every_byte_costs_itself_alone() {
    beside_a_good_peer(|worker| {
        let mut whole = RawPeer::ready(&worker.address);
        let stream = whole.open(ECHO, b"cut me anywhere").unwrap();
        assert_eq!(whole.answer(stream).1, Status::Ok);
        let mut frames = RawPeer::ready(&worker.address);
        frames.prepare(ECHO, b"cut me anywhere").unwrap();
        let open = frames.transmit();
        assert!(open.len() > 40, "an OPEN is what is cut");
        for cut in 0..open.len() {
            let mut peer = RawPeer::ready(&worker.address);
            peer.write(&open[..cut]).unwrap();
            peer.socket.shutdown(Shutdown::Both).unwrap();
        }
        assert_eq!(
            worker.counter(Counter::ProtocolErrors),
            0,
            "an end is no error"
        );
    });
}

/// One frame by its parts, well formed or not.
fn frame(stream: u32, kind: u8, flags: u8, len: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = stream.to_le_bytes().to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(len.to_le_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn frames_that_break_the_rules_close_their_link() {
    const DATA: u8 = 5;
    const CREDIT: u8 = 9;
    const PING: u8 = 10;
    const NO_KIND: u8 = 0x3f;
    let open_of_another_parity = frame(2, 3, 0, 0, &[]);
    let cases: [(&str, Vec<u8>); 7] = [
        (
            "data longer than announced",
            frame(1, DATA, 0, u16::MAX, &[0; 64]),
        ),
        (
            "data on a stream never opened",
            frame(99, DATA, 0, 4, b"data"),
        ),
        (
            "credit that overflows",
            frame(0, CREDIT, 0, 4, &u32::MAX.to_le_bytes()),
        ),
        ("credit of nothing", frame(0, CREDIT, 0, 4, &[0; 4])),
        ("a stream of the acceptor's", open_of_another_parity),
        ("a kind that nobody knows", frame(0, NO_KIND, 0, 0, &[])),
        (
            "pings without end",
            frame(0, PING, 0, 8, &[1; 8]).repeat(5000),
        ),
    ];
    beside_a_good_peer(|worker| {
        for (name, bytes) in &cases {
            let broken =
                || worker.counter(Counter::ProtocolErrors) + worker.counter(Counter::Floods);
            let before = broken();
            let mut peer = RawPeer::ready(&worker.address);
            // The worker may hang up before it has all of it.
            let _cut_off = peer.write(bytes).is_err();
            peer.until_closed();
            eventually(name, || broken() == before + 1);
        }
    });
}

#[test]
fn frames_byte_by_byte_are_the_same_frames() {
    for io in drivers() {
        let worker = Worker::start(1, WorkerConfig::new(io));
        let mut peer = RawPeer::connect(&worker.address);
        for byte in peer.transmit() {
            peer.write(&[byte]).unwrap();
        }
        peer.until(|seen| *seen == Seen::Ready);
        let stream = peer.open(ECHO, b"whole").unwrap();
        assert_eq!(
            peer.answer(stream),
            (b"whole".to_vec(), Status::Ok, Started::Yes)
        );
    }
}

#[test]
fn random_bytes_after_a_good_handshake_close_the_link() {
    beside_a_good_peer(|worker| {
        let mut state = 7u64;
        for _ in 0..50 {
            let mut peer = RawPeer::ready(&worker.address);
            let noise: Vec<u8> = std::iter::repeat_with(|| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33) as u8
            })
            .take(4096)
            .collect();
            // The worker may hang up before it has all of it.
            let _cut_off = peer.write(&noise).is_err();
            let _cut_off = peer.socket.shutdown(Shutdown::Write).is_err();
            peer.until_closed();
        }
    });
}

#[test]
fn an_unknown_endpoint_is_a_typed_rejection() {
    for io in drivers() {
        let worker = Worker::start(1, WorkerConfig::new(io));
        let mut peer = RawPeer::ready(&worker.address);
        let stream = peer.open("test.worker.nothing", b"").unwrap();
        let answer = peer.answer(stream);
        assert_eq!(answer, (vec![], Status::UnknownEndpoint, Started::No));
        assert_eq!(worker.counter(Counter::StreamsRejectedUnknownEndpoint), 1);
    }
}

#[test]
fn a_panicking_handler_ends_its_stream_and_nothing_else() {
    beside_a_good_peer(|worker| {
        let mut peer = RawPeer::ready(&worker.address);
        let stream = peer.open(PANIC, b"").unwrap();
        assert_eq!(
            peer.answer(stream),
            (vec![], Status::HandlerPanicked, Started::Yes)
        );
        assert_eq!(worker.counter(Counter::HandlerPanics), 1);
    });
}

#[test]
fn open_and_kill_churn_is_a_flood() {
    beside_a_good_peer(|worker| {
        let mut peer = RawPeer::ready(&worker.address);
        for _ in 0..1_000_000 {
            match peer.open(HANG, b"") {
                Ok(stream) => peer.connection.kill(stream),
                Err(_) => break,
            }
            if worker.counter(Counter::Floods) > 0 {
                break;
            }
        }
        peer.flush();
        peer.until_closed();
        assert_eq!(worker.counter(Counter::Floods), 1);
        eventually("no handler is left", || worker.server.in_flight() <= 1);
    });
}

#[test]
fn a_peer_that_never_reads_holds_only_its_own_credit() {
    beside_a_good_peer(|worker| {
        let mut peer = RawPeer::ready(&worker.address);
        for _ in 0..100 {
            peer.open(COUNT, b"100000 1000").unwrap();
        }
        eventually("every handler waits for credit", || {
            worker.server.running() == 101
        });
        drop(peer);
        eventually("its handlers are dropped", || worker.server.running() == 1);
    });
}
