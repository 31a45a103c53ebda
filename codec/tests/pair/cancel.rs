//! STOP and KILL, and what becomes of a stream's bytes and slot (family: cancel lost or weakened).

use ringmain_codec::{SendError, Started, Status};

use crate::harness::{Note, Pair, pattern};

#[test]
fn stop_reaches_the_handler_and_the_rest_is_delivered() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    pair.acceptor.take_notes();
    for _ in 0..3 {
        pair.dialer.connection.stop(stream);
    }
    pair.settle();
    assert_eq!(pair.acceptor.take_notes(), [Note::Stop(1)]);
    let peer = pair.peer(stream);
    pair.acceptor
        .connection
        .send(peer, b"usage".to_vec())
        .unwrap();
    pair.end(stream, Status::Cancelled);
    pair.settle();
    assert_eq!(pair.dialer.messages(stream), [b"usage".to_vec()]);
    assert_eq!(
        pair.dialer.take_notes(),
        [Note::End(1, Status::Cancelled, Started::Yes)]
    );
    pair.finish_and_audit();
}

#[test]
fn kill_is_over_at_once_here_and_after_end_there() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    let peer = pair.peer(stream);
    pair.acceptor
        .connection
        .send(peer, pattern(100_000))
        .unwrap();
    pair.transmit();
    pair.dialer.connection.kill(stream);
    pair.dialer.connection.kill(stream);
    // Stopping does not weaken it.
    pair.dialer.connection.stop(stream);
    assert_eq!(pair.dialer.connection.streams_open(), 0);
    assert_eq!(
        pair.dialer.connection.send(stream, vec![]),
        Err(SendError::Gone)
    );
    pair.settle();
    let notes = pair.acceptor.take_notes();
    assert_eq!(notes, [Note::Open(1), Note::EndRequest(1), Note::Kill(1)]);
    assert_eq!(
        pair.acceptor.connection.streams_open(),
        1,
        "the handler has not ended"
    );
    assert_eq!(
        pair.acceptor.connection.send(peer, vec![]),
        Err(SendError::Killed)
    );
    assert_eq!(pair.dialer.take_notes(), []);
    assert!(pair.dialer.messages(stream).is_empty());
    pair.end(stream, Status::Killed);
    pair.settle();
    assert_eq!(pair.dialer.take_notes(), []);
    assert!(pair.dialer.terminals.is_empty());
    pair.finish_and_audit();
}

#[test]
fn kill_after_stop_is_told_and_stop_after_kill_is_not() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    pair.acceptor.take_notes();
    pair.dialer.connection.stop(stream);
    pair.settle();
    pair.dialer.connection.kill(stream);
    pair.settle();
    assert_eq!(pair.acceptor.take_notes(), [Note::Stop(1), Note::Kill(1)]);
}

#[test]
fn a_stream_killed_before_open_left_was_never_there() {
    let mut pair = Pair::new();
    let first = pair.open(&pattern(1000));
    let second = pair.open(b"second");
    pair.dialer.connection.kill(first);
    pair.settle();
    assert_eq!(
        pair.acceptor.take_notes(),
        [Note::Open(3), Note::EndRequest(3)]
    );
    assert_eq!(pair.acceptor.messages(second), [b"second".to_vec()]);
    pair.finish_and_audit();
}

#[test]
fn open_order_survives_kills_and_slots_used_again() {
    let mut pair = Pair::new();
    let streams: Vec<_> = (0..100).map(|_| pair.open(b"")).collect();
    for stream in streams.iter().step_by(2) {
        pair.dialer.connection.kill(*stream);
    }
    for _ in 0..50 {
        pair.open(b"");
    }
    pair.settle();
    assert_eq!(pair.acceptor.error, None);
    assert_eq!(pair.acceptor.connection.streams_open(), 100);
    pair.finish_and_audit();
}

#[test]
fn kill_and_end_may_cross() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    pair.end(stream, Status::Ok);
    pair.dialer.connection.kill(stream);
    pair.settle();
    assert_eq!(pair.dialer.take_notes(), []);
    assert_eq!(
        pair.acceptor.take_notes(),
        [Note::Open(1), Note::EndRequest(1)]
    );
    assert!(pair.acceptor.connection.stats().late_frames > 0);
    pair.finish_and_audit();
}

#[test]
fn killing_frees_a_terminal_that_waits_behind_blocked_data() {
    let mut pair = Pair::new();
    pair.dialer.releases = false;
    let stream = pair.open(b"");
    pair.settle();
    let peer = pair.peer(stream);
    pair.acceptor
        .connection
        .send(peer, pattern(200_000))
        .unwrap();
    pair.end(stream, Status::Ok);
    pair.settle();
    assert_eq!(pair.dialer.connection.stats().streams_ended, 0);
    pair.dialer.connection.kill(stream);
    pair.settle();
    assert!(pair.acceptor.connection.stats().queued_bytes_discarded > 100_000);
    pair.finish_and_audit();
}

#[test]
fn a_thousand_dead_streams_cost_no_credit() {
    let mut pair = Pair::new();
    let streams: Vec<_> = (0..1000).map(|_| pair.open(b"")).collect();
    pair.settle();
    for stream in &streams {
        let peer = pair.peer(*stream);
        pair.acceptor.connection.accept(peer);
    }
    pair.settle();
    for stream in streams {
        pair.dialer.connection.kill(stream);
        let peer = pair.peer(stream);
        pair.acceptor.connection.send(peer, pattern(500)).unwrap();
    }
    // The zombies' tokens and the kills cross.
    pair.settle();
    assert_eq!(pair.dialer.connection.stats().late_data_bytes, 500 * 1000);
    let live = pair.open(b"");
    pair.settle();
    let peer = pair.peer(live);
    pair.acceptor
        .connection
        .send(peer, b"alive".to_vec())
        .unwrap();
    pair.settle();
    assert_eq!(pair.dialer.messages(live), [b"alive".to_vec()]);
    pair.finish_and_audit();
}
