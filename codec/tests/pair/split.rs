//! The same result however the bytes were cut.

use std::time::Duration;

use ringmain_codec::{EndParams, Metadata, OpenParams, Status};

use crate::harness::{Note, Pair, Split, params, pattern, windows};

/// What both sides were told: notes and messages.
type Outcome = [(Vec<Note>, Vec<Vec<Vec<u8>>>); 2];

/// A conversation with every kind of frame.
fn talk(split: Split) -> (Outcome, u64) {
    let (dialer, acceptor) = windows(600, 2000);
    let mut pair = Pair::unconnected(dialer, acceptor);
    pair.dialer.split = split;
    pair.acceptor.split = split;
    pair.settle();
    let mut bytes = Vec::new();
    let metadata = Metadata::encode_pairs([("k", "v"), ("tenant", "blue")], &mut bytes).unwrap();
    let open = OpenParams {
        metadata,
        deadline: Some(Duration::from_secs(9)),
        ..params()
    };
    let connection = &mut pair.dialer.connection;
    let first = connection
        .open(pair.now, &open, Some(pattern(700)), false)
        .unwrap();
    let second = connection.open(pair.now, &open, None, false).unwrap();
    let third = connection
        .open(pair.now, &open, Some(vec![]), true)
        .unwrap();
    connection.send(first, vec![]).unwrap();
    connection.finish(first);
    pair.settle();
    let connection = &mut pair.acceptor.connection;
    for (stream, len) in [(first, 900), (second, 3), (third, 0)] {
        let peer = pair.acceptor.handles[&stream.id.value()];
        connection.accept(peer);
        connection.send(peer, pattern(len)).unwrap();
        connection.send(peer, pattern(5)).unwrap();
    }
    pair.dialer.connection.stop(third);
    pair.settle();
    pair.dialer.connection.kill(second);
    let peer = pair.peer(first);
    let end = EndParams {
        message: "done",
        trailers: metadata,
        ..EndParams::new(Status::Ok)
    };
    pair.acceptor.connection.end(peer, end);
    pair.end(third, Status::Cancelled);
    pair.settle();
    pair.acceptor.connection.goaway(Status::Draining, "bye");
    pair.settle();
    let arrived = pair.acceptor.connection.transmitted_bytes();
    pair.finish_and_audit();
    let outcome = [&mut pair.dialer, &mut pair.acceptor].map(|side| {
        assert_eq!(side.error, None);
        (side.take_notes(), side.messages.values().cloned().collect())
    });
    (outcome, arrived)
}

#[test]
fn a_conversation_is_the_same_for_every_split() {
    let (whole, arrived) = talk(Split::Whole);
    assert!(whole[0].0.len() > 5 && whole[1].0.len() > 7, "{whole:?}");
    for len in [1, 2, 3, 7, 8, 9, 64] {
        assert_eq!(talk(Split::Every(len)).0, whole, "pieces of {len}");
    }
    for at in 1..usize::try_from(arrived).unwrap() {
        assert_eq!(talk(Split::At(at)).0, whole, "cut at {at}");
    }
    for seed in 0..50 {
        assert_eq!(talk(Split::Random(seed)).0, whole, "seed {seed}");
    }
}

#[test]
fn an_error_is_the_same_for_every_split() {
    let mut pair = Pair::new();
    pair.open(&pattern(40));
    let (mut bytes, _) = pair.dialer.transmit(pair.now);
    bytes.extend_from_slice(&[1, 0, 0, 0, 5, 0, 3, 0, 1, 2, 3]);
    // The total is below what the fragment holds.
    bytes.extend_from_slice(&[1, 0, 0, 0, 5, 5, 6, 0, 1, 0, 0, 0, 8, 8]);
    bytes.extend_from_slice(&[0; 30]);
    let outcome = |split| {
        let mut pair = Pair::new();
        pair.acceptor.split = split;
        pair.acceptor.feed(pair.now, &bytes);
        (
            pair.acceptor.error,
            pair.acceptor.take_notes(),
            pair.acceptor.messages,
        )
    };
    let whole = outcome(Split::Whole);
    assert!(whole.0.is_some());
    for at in 1..bytes.len() {
        // Places count from the first byte that arrived, the handshake's among them.
        assert_eq!(outcome(Split::At(60 + at)), whole, "cut at {at}");
    }
    assert_eq!(outcome(Split::Every(1)), whole);
}
