//! Limits read the same at both ends, and cost one stream at most.

use ringmain_codec::{Config, OpenError, SendError, Started, Status};

use crate::harness::{Note, Pair, acceptor_config, params, pattern};

const MAX: u32 = 1_000;

/// Both ends announce the limit; each can be made to forget the other's.
fn limited(fragment: u16) -> Pair {
    let (mut dialer, mut acceptor) = (Config::dialer(None), acceptor_config());
    for config in [&mut dialer, &mut acceptor] {
        config.limits.message_bytes_max = MAX;
        config.limits.fragment_bytes_max = fragment;
    }
    Pair::connected(dialer, acceptor)
}

#[test]
fn a_message_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
    for fragment in [100, 16_376] {
        let mut pair = limited(fragment);
        let stream = pair.open(&pattern(1000));
        let opened = pair
            .dialer
            .connection
            .open(pair.now, &params(), Some(pattern(1001)), true);
        assert_eq!(
            opened,
            Err(OpenError::TooLarge {
                len: 1001,
                max: MAX
            })
        );
        pair.settle();
        let peer = pair.peer(stream);
        pair.acceptor.connection.send(peer, pattern(1000)).unwrap();
        let refused = SendError::TooLarge {
            len: 1001,
            max: MAX,
        };
        assert_eq!(
            pair.acceptor.connection.send(peer, pattern(1001)),
            Err(refused)
        );
        pair.settle();
        assert_eq!(pair.dialer.messages(stream), [pattern(1000)]);
        pair.finish_and_audit();
    }
}

/// A pair in which each side takes less than the other was told.
fn lying(fragment: u16) -> Pair {
    let (mut dialer, mut acceptor) = (Config::dialer(None), acceptor_config());
    for config in [&mut dialer, &mut acceptor] {
        config.limits.message_bytes_max = MAX;
        config.limits.fragment_bytes_max = fragment;
    }
    let mut pair = Pair::unconnected(dialer, acceptor);
    // `message_bytes_max` is the first of the limits in HELLO and in WELCOME.
    let (mut hello, _) = pair.dialer.transmit(pair.now);
    hello[32..36].copy_from_slice(&1_000_000_u32.to_le_bytes());
    pair.acceptor.feed(pair.now, &hello);
    let (mut welcome, _) = pair.acceptor.transmit(pair.now);
    welcome[28..32].copy_from_slice(&1_000_000_u32.to_le_bytes());
    pair.dialer.feed(pair.now, &welcome);
    assert_eq!(pair.dialer.take_notes(), [Note::Ready]);
    assert_eq!(pair.acceptor.take_notes(), [Note::Ready]);
    pair
}

#[test]
fn the_receiver_refuses_a_long_response_on_that_stream_alone() {
    for fragment in [100, 16_376] {
        let mut pair = lying(fragment);
        let (long, other) = (pair.open(b""), pair.open(b""));
        pair.settle();
        pair.acceptor.take_notes();
        let (long_peer, other_peer) = (pair.peer(long), pair.peer(other));
        pair.acceptor
            .connection
            .send(long_peer, pattern(1001))
            .unwrap();
        pair.acceptor
            .connection
            .send(other_peer, pattern(1000))
            .unwrap();
        pair.settle();
        assert_eq!(
            pair.dialer.take_notes(),
            [Note::Refused(1, Status::TooLarge)]
        );
        assert_eq!(pair.acceptor.take_notes(), [Note::Kill(1)]);
        assert_eq!(pair.dialer.messages(other), [pattern(1000)]);
        assert_eq!(pair.dialer.connection.stats().refused_too_large, 1);
        pair.finish_and_audit();
        assert_eq!(pair.dialer.terminals[&1], 1);
    }
}

#[test]
fn the_receiver_refuses_a_long_request_in_open_and_in_data() {
    let mut pair = lying(16_376);
    // OPEN announces the length: nobody hears of the stream at the acceptor.
    let in_open = pair.open(&pattern(20_000));
    pair.settle();
    assert_eq!(pair.acceptor.take_notes(), []);
    let id = in_open.id.value();
    let note = Note::End(id, Status::TooLarge, Started::No);
    assert_eq!(pair.dialer.take_notes(), [note]);
    // DATA announces it.
    let in_data = pair.open_input(None, false);
    pair.settle();
    pair.dialer
        .connection
        .send(in_data, pattern(20_000))
        .unwrap();
    pair.settle();
    let id = in_data.id.value();
    let notes = [Note::Open(id), Note::Refused(id, Status::TooLarge)];
    assert_eq!(pair.acceptor.take_notes(), notes);
    assert_eq!(
        pair.dialer.take_notes(),
        [Note::End(id, Status::TooLarge, Started::No)]
    );
    pair.finish_and_audit();
}

#[test]
fn surplus_streams_are_refused_by_the_name_of_the_limit() {
    let mut acceptor = acceptor_config();
    acceptor.limits.streams_max = 2;
    let mut pair = Pair::connected(Config::dialer(None), acceptor);
    let first = pair.open(b"");
    pair.open(b"");
    let opened = pair.dialer.connection.open(pair.now, &params(), None, true);
    assert_eq!(opened, Err(OpenError::StreamsMax { max: 2 }));
    assert_eq!(pair.dialer.connection.stats().streams_max_hits, 1);
    // A killed stream counts until the peer has ended it.
    pair.settle();
    pair.dialer.connection.kill(first);
    pair.settle();
    let opened = pair.dialer.connection.open(pair.now, &params(), None, true);
    assert_eq!(opened, Err(OpenError::StreamsMax { max: 2 }));
    pair.end(first, Status::Killed);
    pair.settle();
    pair.open(b"");
    pair.settle();
    assert_eq!(pair.acceptor.error, None);
    pair.finish_and_audit();
}
