//! GOAWAY, lost transports, and what is said to have started.

use ringmain_codec::{
    Config, ConnectionState, EndParams, OpenError, SendError, Started, Status, StreamHandle,
};

use crate::harness::{Note, Pair, acceptor_config, params};

#[test]
fn goaway_refuses_what_it_had_not_taken_and_finishes_the_rest() {
    let mut pair = Pair::new();
    let taken = pair.open(b"taken");
    pair.settle();
    // OPEN and GOAWAY cross.
    let refused = pair.open(b"refused");
    let dead = pair.open(b"dead");
    pair.transmit();
    pair.dialer.connection.kill(dead);
    pair.acceptor
        .connection
        .goaway(Status::Draining, "rolling update");
    pair.acceptor
        .connection
        .goaway(Status::Internal, "idempotent");
    pair.settle();
    let notes = [
        Note::Goaway(1, Status::Draining),
        Note::StreamRefused(refused.id.value()),
    ];
    assert_eq!(pair.dialer.take_notes(), notes);
    assert_eq!(pair.acceptor.connection.stats().opens_after_goaway, 2);
    assert_eq!(pair.dialer.connection.state(), ConnectionState::Draining);
    let opened = pair.dialer.connection.open(pair.now, &params(), None, true);
    assert_eq!(opened, Err(OpenError::Draining));
    assert!(!pair.acceptor.connection.is_drained());
    assert!(!pair.dialer.connection.is_drained());
    pair.end(taken, Status::Ok);
    assert!(
        !pair.acceptor.connection.is_drained(),
        "END is still to be written"
    );
    pair.settle();
    assert_eq!(
        pair.dialer.take_notes(),
        [Note::End(1, Status::Ok, Started::Yes)]
    );
    assert!(pair.acceptor.connection.is_drained());
    assert!(pair.dialer.connection.is_drained());
    pair.finish_and_audit();
}

#[test]
fn goaway_refuses_streams_whose_open_never_left() {
    let mut pair = Pair::new();
    pair.acceptor.connection.goaway(Status::Draining, "");
    pair.transmit();
    let (first, second) = (pair.open(b"1"), pair.open(b"2"));
    pair.now += pair.latency;
    while pair.deliver() {}
    let notes = [
        Note::Goaway(0, Status::Draining),
        Note::StreamRefused(first.id.value()),
        Note::StreamRefused(second.id.value()),
    ];
    assert_eq!(pair.dialer.take_notes(), notes);
    pair.settle();
    assert_eq!(pair.acceptor.connection.stats().streams_opened, 0);
    assert!(pair.dialer.connection.is_drained());
}

#[test]
fn the_dialer_may_drain_too() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    pair.dialer.connection.goaway(Status::Ok, "leaving");
    let opened = pair.dialer.connection.open(pair.now, &params(), None, true);
    assert_eq!(opened, Err(OpenError::Draining));
    pair.settle();
    assert!(
        pair.acceptor
            .take_notes()
            .contains(&Note::Goaway(0, Status::Ok))
    );
    pair.end(stream, Status::Ok);
    pair.settle();
    assert!(pair.dialer.connection.is_drained());
    assert!(pair.acceptor.connection.is_drained());
}

#[test]
fn a_lost_transport_says_what_can_have_started() {
    let mut pair = Pair::new();
    let (accepted, seen, data) = (pair.open(b""), pair.open(b""), pair.open(b""));
    pair.settle();
    let handles = [pair.peer(accepted), pair.peer(data)];
    pair.acceptor.connection.accept(handles[0]);
    pair.acceptor
        .connection
        .send(handles[1], b"token".to_vec())
        .unwrap();
    pair.settle();
    let killed = pair.open(b"");
    pair.settle();
    pair.dialer.connection.kill(killed);
    // Written into a buffer, which the kernel never got.
    let written = pair.open(b"");
    let submitted = pair.dialer.connection.transmitted_bytes();
    let (_, _) = pair.dialer.transmit(pair.now);
    pair.dialer.connection.set_submitted(submitted);
    // Not even written.
    let queued = pair.open(b"");
    pair.dialer.take_notes();
    pair.dialer.fail();
    let failed = |stream: StreamHandle, started| Note::Failed(stream.id.value(), started);
    let mut notes = pair.dialer.take_notes();
    notes.sort_by_key(|note| format!("{note:?}"));
    let mut expected = vec![
        failed(accepted, Started::Yes),
        failed(seen, Started::Unknown),
        failed(data, Started::Yes),
        failed(written, Started::No),
        failed(queued, Started::No),
    ];
    expected.sort_by_key(|note| format!("{note:?}"));
    assert_eq!(notes, expected);
    assert_eq!(pair.dialer.connection.streams_open(), 0);
    assert_eq!(pair.dialer.connection.poll_failed(), None);
    let opened = pair.dialer.connection.open(pair.now, &params(), None, true);
    assert_eq!(opened, Err(OpenError::Closed));
}

#[test]
fn an_acceptor_learns_of_each_stream_it_still_had() {
    let mut pair = Pair::new();
    let (open, ended) = (pair.open(b""), pair.open(b""));
    pair.settle();
    let (open_peer, ended_peer) = (pair.peer(open), pair.peer(ended));
    pair.acceptor
        .connection
        .end(ended_peer, EndParams::new(Status::Ok));
    pair.acceptor.take_notes();
    pair.acceptor.fail();
    assert_eq!(
        pair.acceptor.take_notes(),
        [Note::Failed(open.id.value(), Started::Yes)]
    );
    assert_eq!(
        pair.acceptor.connection.send(open_peer, vec![]),
        Err(SendError::Gone)
    );
    pair.acceptor
        .connection
        .end(open_peer, EndParams::new(Status::Ok));
    assert!(!pair.acceptor.connection.wants_transmit());
}

#[test]
fn an_error_is_told_to_the_peer_and_fails_every_stream_once() {
    let mut pair = Pair::new();
    let (first, second) = (pair.open(b""), pair.open(b""));
    pair.settle();
    // A frame of an unknown kind that must not be skipped.
    pair.acceptor.feed(pair.now, &[0, 0, 0, 0, 0x55, 0, 0, 0]);
    assert!(pair.acceptor.error.is_some());
    let crossing = pair.open(b"");
    pair.settle();
    let notes = [
        Note::Goaway(second.id.value(), Status::ProtocolError),
        Note::StreamRefused(crossing.id.value()),
    ];
    assert_eq!(pair.dialer.take_notes(), notes);
    for side in [&mut pair.dialer, &mut pair.acceptor] {
        side.fail();
        assert_eq!(side.terminals[&first.id.value()], 1);
        assert_eq!(side.terminals[&second.id.value()], 1);
        assert_eq!(side.connection.streams_open(), 0);
    }
}

#[test]
fn nothing_is_lost_when_goaway_comes_before_the_handshake() {
    let mut pair = Pair::unconnected(Config::dialer(None), acceptor_config());
    pair.acceptor.connection.goaway(Status::Draining, "");
    pair.settle();
    assert_eq!(
        pair.dialer.take_notes(),
        [Note::Ready, Note::Goaway(0, Status::Draining)]
    );
    assert!(pair.dialer.connection.is_drained());
    assert!(pair.acceptor.connection.is_drained());
}
