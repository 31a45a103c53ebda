//! Nobody is starved: long messages, priorities, control frames under back-pressure.

use std::time::Duration;

use ringmain_codec::{
    Config, EndParams, OpenParams, Priority, Started, Status, StreamHandle, Transmit,
};

use crate::harness::{Note, Pair, acceptor_config, params, pattern};

fn open_with(pair: &mut Pair, priority: Priority) -> StreamHandle {
    let open = OpenParams {
        priority,
        ..params()
    };
    pair.dialer
        .connection
        .open(pair.now, &open, None, true)
        .unwrap()
}

/// A pair whose windows do not matter.
fn wide() -> Pair {
    let mut dialer = Config::dialer(None);
    dialer.limits.stream_window = 64 * 1024 * 1024;
    dialer.limits.connection_window = 256 * 1024 * 1024;
    Pair::connected(dialer, acceptor_config())
}

#[test]
fn classes_share_by_weight_and_none_starves() {
    let mut pair = wide();
    let classes = [Priority::High, Priority::Middle, Priority::Low];
    let streams = classes.map(|priority| open_with(&mut pair, priority));
    pair.settle();
    for stream in streams {
        let peer = pair.peer(stream);
        for _ in 0..400 {
            pair.acceptor.connection.send(peer, pattern(1016)).unwrap();
        }
    }
    pair.acceptor.out_bytes = 28 * 1024 * 8;
    let (bytes, transmit) = pair.acceptor.transmit(pair.now);
    assert_eq!(transmit, Transmit::MoreRoomNeeded);
    pair.dialer.feed(pair.now, &bytes);
    let counts = streams.map(|stream| pair.dialer.messages(stream).len());
    assert_eq!(counts, [128, 64, 32]);
    pair.finish_and_audit();
}

#[test]
fn a_token_passes_a_long_message() {
    let mut pair = wide();
    let (long, short) = (pair.open(b""), pair.open(b""));
    pair.settle();
    let (long_peer, short_peer) = (pair.peer(long), pair.peer(short));
    pair.acceptor
        .connection
        .send(long_peer, pattern(10_000_000))
        .unwrap();
    pair.acceptor
        .connection
        .send(short_peer, b"token".to_vec())
        .unwrap();
    let (bytes, _) = pair.acceptor.transmit(pair.now);
    assert!(bytes.len() <= 64 * 1024);
    pair.dialer.feed(pair.now, &bytes);
    assert_eq!(pair.dialer.messages(short), [b"token".to_vec()]);
    pair.finish_and_audit();
    assert_eq!(pair.dialer.messages(long), [pattern(10_000_000)]);
}

#[test]
fn control_frames_go_out_when_all_credit_is_used() {
    let mut dialer = Config::dialer(None);
    dialer.limits.connection_window = 4096;
    let mut pair = Pair::connected(dialer, acceptor_config());
    let (blocked, other) = (pair.open(b""), pair.open(b""));
    pair.settle();
    let (blocked_peer, other_peer) = (pair.peer(blocked), pair.peer(other));
    // The reader takes nothing, not even into its connection.
    pair.acceptor
        .connection
        .send(blocked_peer, pattern(100_000))
        .unwrap();
    let (first, transmit) = pair.acceptor.transmit(pair.now);
    assert_eq!(transmit, Transmit::Drained);
    assert_eq!(first.len(), 4096 + 4, "all credit, and the total length");
    assert!(!pair.acceptor.connection.wants_transmit());
    pair.acceptor.connection.accept(other_peer);
    pair.acceptor
        .connection
        .end(other_peer, EndParams::new(Status::Ok));
    let third = pair.open(b"more");
    pair.transmit();
    pair.now += pair.latency;
    pair.deliver();
    let third_peer = pair.peer(third);
    pair.acceptor
        .connection
        .end(third_peer, EndParams::new(Status::Overloaded));
    let (second, transmit) = pair.acceptor.transmit(pair.now);
    assert_eq!(transmit, Transmit::Drained);
    pair.dialer.feed(pair.now, &first);
    pair.dialer.feed(pair.now, &second);
    assert_eq!(pair.dialer.connection.streams_open(), 1);
    let notes = pair.dialer.take_notes();
    let ended = |stream: StreamHandle, status, started| {
        notes.contains(&Note::End(stream.id.value(), status, started))
    };
    assert!(ended(other, Status::Ok, Started::Yes), "{notes:?}");
    assert!(ended(third, Status::Overloaded, Started::No), "{notes:?}");
}

#[test]
fn a_full_buffer_keeps_its_place_in_line() {
    let mut pair = wide();
    pair.acceptor.out_bytes = 1024;
    let streams: Vec<_> = (0..20).map(|_| pair.open(b"")).collect();
    pair.settle();
    for stream in &streams {
        let peer = pair.peer(*stream);
        for _ in 0..10 {
            pair.acceptor.connection.send(peer, pattern(300)).unwrap();
        }
        pair.acceptor
            .connection
            .end(peer, EndParams::new(Status::Ok));
    }
    pair.latency = Duration::ZERO;
    pair.settle();
    for stream in streams {
        assert_eq!(pair.dialer.messages(stream).len(), 10);
        assert_eq!(pair.dialer.terminals[&stream.id.value()], 1);
    }
    pair.finish_and_audit();
}
