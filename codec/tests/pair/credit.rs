//! Flow control: bounded by credit, never stuck, conserved on every exit.

use proptest::prelude::*;
use ringmain_codec::{EndParams, OutBuf, Status, StreamHandle, TrySend};

use crate::harness::{Note, Pair, Split, pattern, windows};

#[test]
fn a_stream_is_held_at_its_window_and_others_go_on() {
    let (dialer, acceptor) = windows(1024, 64 * 1024);
    let mut pair = Pair::connected(dialer, acceptor);
    pair.dialer.releases = false;
    let (slow, quick) = (pair.open(b""), pair.open(b""));
    pair.settle();
    let (slow_peer, quick_peer) = (pair.peer(slow), pair.peer(quick));
    pair.acceptor
        .connection
        .send(slow_peer, pattern(10_000))
        .unwrap();
    pair.settle();
    assert_eq!(pair.dialer.connection.credit_audit().streams_held, 1024);
    assert_eq!(pair.acceptor.connection.send_credit(slow_peer), 0);
    pair.acceptor
        .connection
        .send(quick_peer, pattern(100))
        .unwrap();
    pair.settle();
    assert_eq!(pair.dialer.messages(quick), [pattern(100)]);
    pair.dialer.releases = true;
    pair.dialer.release_held();
    pair.settle();
    assert_eq!(pair.dialer.messages(slow), [pattern(10_000)]);
    pair.finish_and_audit();
}

#[test]
fn many_wedged_streams_do_not_hold_connection_credit() {
    // Ten uploads that together exceed the connection's window by far.
    let (dialer, mut acceptor) = windows(128 * 1024, 1024 * 1024);
    acceptor.limits.stream_window = 128 * 1024;
    let mut pair = Pair::connected(dialer, acceptor);
    pair.acceptor.releases = false;
    let streams: Vec<_> = (0..10).map(|_| pair.open(&pattern(200_000))).collect();
    pair.settle();
    let live = pair.open(b"through");
    pair.settle();
    assert_eq!(pair.acceptor.messages(live), [b"through".to_vec()]);
    pair.acceptor.releases = true;
    pair.acceptor.release_held();
    pair.settle();
    for stream in streams {
        assert_eq!(pair.acceptor.messages(stream), [pattern(200_000)]);
    }
    pair.finish_and_audit();
}

#[test]
fn send_ready_comes_when_the_lacking_credit_does() {
    // Credit of the stream, and credit of the connection.
    for (stream_window, connection_window) in [(512, 65_536), (65_536, 512)] {
        let (dialer, acceptor) = windows(stream_window, connection_window);
        let mut pair = Pair::connected(dialer, acceptor);
        let stream = pair.open(b"");
        pair.settle();
        pair.dialer.releases = false;
        let peer = pair.peer(stream);
        let mut bytes = Vec::with_capacity(4096);
        let mut out = OutBuf::new(&mut bytes, 4096);
        let mut sent = 0;
        let message = pattern(100);
        while pair.acceptor.connection.try_send(peer, &message, &mut out) == Ok(TrySend::Written) {
            sent += 1;
        }
        assert_eq!(sent, 512 / 108);
        assert_eq!(pair.acceptor.connection.stats().no_credit, 1);
        pair.acceptor.take_notes();
        pair.dialer.feed(pair.now, &bytes);
        pair.dialer.release_held();
        pair.settle();
        assert_eq!(pair.acceptor.take_notes(), [Note::SendReady(1)]);
        let mut out = OutBuf::new(&mut bytes, 4096);
        let again = pair.acceptor.connection.try_send(peer, &message, &mut out);
        assert_eq!(again, Ok(TrySend::Written));
        let (_, rest) = bytes.split_at(108 * sent);
        pair.dialer.feed(pair.now, rest);
        pair.finish_and_audit();
    }
}

#[test]
fn a_message_that_credit_can_never_cover_at_once_must_be_queued() {
    let (dialer, acceptor) = windows(512, 65_536);
    let mut pair = Pair::connected(dialer, acceptor);
    let stream = pair.open(b"");
    pair.settle();
    let peer = pair.peer(stream);
    let mut bytes = Vec::with_capacity(4096);
    let mut out = OutBuf::new(&mut bytes, 4096);
    let sent = pair
        .acceptor
        .connection
        .try_send(peer, &pattern(600), &mut out);
    assert_eq!(sent, Ok(TrySend::Queued));
    pair.acceptor.connection.send(peer, pattern(600)).unwrap();
    pair.settle();
    assert_eq!(pair.dialer.messages(stream), [pattern(600)]);
}

#[test]
fn a_window_grows_for_a_consumer_that_keeps_up_and_within_the_budget() {
    let grown = |budget, releases| {
        let (mut dialer, acceptor) = windows(4096, 4 * 1024 * 1024);
        dialer.window_growth_bytes_max = budget;
        dialer.stream_window_max = 64 * 1024;
        let mut pair = Pair::connected(dialer, acceptor);
        let stream = pair.open(b"");
        pair.settle();
        pair.dialer.releases = releases;
        let peer = pair.peer(stream);
        pair.acceptor
            .connection
            .send(peer, pattern(1_000_000))
            .unwrap();
        pair.settle();
        let stats = *pair.dialer.connection.stats();
        let credit = pair.acceptor.connection.send_credit(peer);
        pair.finish_and_audit();
        (
            stats.windows_grown,
            credit,
            stats.window_growth_max_hits > 0,
        )
    };
    // All is consumed: what is left is the whole window but less than half of it.
    let (times, credit, full) = grown(u32::MAX, true);
    assert_eq!((times, full), (4, false));
    assert!((32 * 1024..=64 * 1024).contains(&credit), "{credit}");
    let (times, credit, full) = grown(4096, true);
    assert_eq!((times, full), (1, true));
    assert!((4096..=8192).contains(&credit), "{credit}");
    assert_eq!(grown(u32::MAX, false), (0, 0, false));
}

#[test]
fn releasing_too_much_is_counted_and_dropped() {
    let mut pair = Pair::new();
    pair.acceptor.releases = false;
    let stream = pair.open(b"12345678");
    pair.settle();
    let peer = pair.peer(stream);
    pair.acceptor.connection.release(peer, 1_000);
    assert_eq!(pair.acceptor.connection.stats().release_excess, 992);
    pair.finish_and_audit();
}

/// Opens streams with uploads and downloads of these lengths and lets all finish.
fn transfer(pair: &mut Pair, lengths: &[usize]) -> Vec<StreamHandle> {
    let streams: Vec<_> = lengths
        .iter()
        .map(|len| pair.open(&pattern(*len)))
        .collect();
    pair.settle();
    for (stream, len) in streams.iter().zip(lengths) {
        assert_eq!(pair.acceptor.messages(*stream), [pattern(*len)]);
        let peer = pair.peer(*stream);
        pair.acceptor.connection.send(peer, pattern(*len)).unwrap();
        pair.acceptor
            .connection
            .end(peer, EndParams::new(Status::Ok));
    }
    pair.settle();
    streams
}

/// Failures are shrunk and printed, and not kept in files.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn every_transfer_finishes_under_any_windows(
        stream_window in 128_u32..20_000,
        connection_window in 128_u32..40_000,
        fragment in 64_u16..20_000,
        out_bytes in 300_usize..40_000,
        split in any::<u64>(),
        lengths in prop::collection::vec(0_usize..30_000, 1..8),
    ) {
        let (mut dialer, mut acceptor) = windows(stream_window, connection_window);
        dialer.limits.fragment_bytes_max = fragment;
        acceptor.limits.fragment_bytes_max = fragment;
        let mut pair = Pair::connected(dialer, acceptor);
        for side in [&mut pair.dialer, &mut pair.acceptor] {
            side.out_bytes = out_bytes;
            side.split = Split::Random(split);
        }
        let streams = transfer(&mut pair, &lengths);
        for (stream, len) in streams.iter().zip(&lengths) {
            prop_assert_eq!(pair.dialer.messages(*stream), [pattern(*len)]);
            prop_assert_eq!(pair.dialer.terminals[&stream.id.value()], 1);
        }
        pair.finish_and_audit();
    }
}
