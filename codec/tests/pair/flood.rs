//! Peers that make work, break rules, or grant what cannot be (spec 9).

use std::time::Duration;

use ringmain_codec::frame::{Accept, Credit, Data, Kill, Open, Ping, Pong, Stop};
use ringmain_codec::wire::{FrameKind, Malformed};
use ringmain_codec::{
    Config, ConnectionError, End, Extensions, FloodKind, Metadata, OutBuf, Priority, RequestId,
    Status, StreamId,
};

use crate::harness::{Pair, acceptor_config};

fn encode(write: impl FnOnce(&mut OutBuf<'_>)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(70_000);
    write(&mut OutBuf::new(&mut bytes, 70_000));
    bytes
}

fn id(value: u32) -> StreamId {
    StreamId::new(value)
}

fn open_frame(stream: u32, request: &[u8]) -> Vec<u8> {
    let open = Open {
        request_id: RequestId([0; 16]),
        deadline: None,
        priority: Priority::Middle,
        trace: None,
        endpoint: "a.b.c",
        metadata: Metadata::EMPTY,
        request_len: Some(u32::try_from(request.len()).unwrap()),
        request,
        end_request: false,
        extensions: Extensions::EMPTY,
    };
    encode(|out| open.encode(id(stream), out).unwrap())
}

fn data_frame(stream: u32, data: Data<'_>) -> Vec<u8> {
    encode(|out| data.encode(id(stream), out).unwrap())
}

fn ping() -> Vec<u8> {
    encode(|out| Ping { payload: 1 }.encode(out).unwrap())
}

fn acceptor(change: impl FnOnce(&mut Config)) -> Pair {
    let mut config = acceptor_config();
    change(&mut config);
    Pair::connected(Config::dialer(None), config)
}

/// Feeds frames to an acceptor that has had its handshake; gives its error.
fn check(frames: &[Vec<u8>], expected: Option<ConnectionError>) {
    let mut pair = Pair::new();
    for frame in frames {
        pair.acceptor.feed(pair.now, frame);
    }
    assert_eq!(pair.acceptor.error, expected, "{frames:?}");
}

#[test]
fn pings_are_limited_by_the_second() {
    let mut pair = acceptor(|config| config.pings_per_second_max = 5);
    for _ in 0..3 {
        for _ in 0..5 {
            pair.acceptor.feed(pair.now, &ping());
            drop(pair.acceptor.transmit(pair.now));
        }
        assert_eq!(pair.acceptor.error, None);
        pair.now += Duration::from_secs(1);
    }
    for _ in 0..6 {
        pair.acceptor.feed(pair.now, &ping());
    }
    assert_eq!(
        pair.acceptor.error,
        Some(ConnectionError::Flood(FloodKind::Pings))
    );
}

#[test]
fn a_peer_that_does_not_read_its_replies_is_cut_off() {
    let mut pair = acceptor(|config| config.control_frames_queued_max = 4);
    for _ in 0..5 {
        pair.acceptor.feed(pair.now, &ping());
    }
    assert_eq!(
        pair.acceptor.error,
        Some(ConnectionError::Flood(FloodKind::UnreadReplies))
    );
}

#[test]
fn opening_and_killing_is_limited_while_unanswered_and_young() {
    // Accepting is no answer: a responder accepts at once and has the whole cost.
    for (answers, waits) in [(false, false), (true, false), (false, true)] {
        let mut pair = acceptor(|config| config.churn_per_second_max = 3);
        for stream in [1, 3, 5, 7] {
            pair.acceptor.feed(pair.now, &open_frame(stream, b""));
            let handle = pair.acceptor.handles[&stream];
            pair.acceptor.connection.accept(handle);
            if answers {
                let token = b"token".to_vec();
                assert_eq!(pair.acceptor.connection.send(handle, token), Ok(()));
            }
            if waits {
                pair.now += Duration::from_millis(100);
            }
            pair.acceptor.feed(
                pair.now,
                &encode(|out| Kill.encode(id(stream), out).unwrap()),
            );
        }
        let flood = ConnectionError::Flood(FloodKind::Churn);
        let floods = !answers && !waits;
        assert_eq!(pair.acceptor.error, floods.then_some(flood));
    }
}

#[test]
fn frames_that_carry_nothing_are_limited_in_a_row() {
    let mut pair = acceptor(|config| config.empty_frames_max = 10);
    pair.acceptor.feed(pair.now, &open_frame(1, b""));
    for _ in 0..5 {
        for _ in 0..10 {
            pair.acceptor
                .feed(pair.now, &data_frame(1, Data::whole(b"")));
        }
        pair.acceptor
            .feed(pair.now, &data_frame(1, Data::whole(b"x")));
    }
    assert_eq!(pair.acceptor.error, None);
    let stop = encode(|out| Stop.encode(id(1), out).unwrap());
    for _ in 0..12 {
        pair.acceptor.feed(pair.now, &stop);
    }
    assert_eq!(
        pair.acceptor.error,
        Some(ConnectionError::Flood(FloodKind::EmptyFrames))
    );
}

#[test]
fn unknown_optional_frames_are_skipped_and_limited() {
    let mut pair = acceptor(|config| config.unknown_frames_per_second_max = 2);
    let frame = [9, 0, 0, 0, 0xff, 0x12, 3, 0, 1, 2, 3];
    pair.acceptor.feed(pair.now, &[frame, frame].concat());
    assert_eq!(pair.acceptor.error, None);
    assert_eq!(pair.acceptor.connection.stats().unknown_frames, 2);
    pair.acceptor.feed(pair.now, &frame);
    assert_eq!(
        pair.acceptor.error,
        Some(ConnectionError::Flood(FloodKind::UnknownFrames))
    );
    check(
        &[vec![0, 0, 0, 0, 0x7f, 0, 0, 0]],
        Some(ConnectionError::UnknownCriticalFrame(0x7f)),
    );
}

#[test]
fn credit_beyond_the_largest_window_closes() {
    let credit = |stream, bytes| encode(|out| Credit { bytes }.encode(id(stream), out).unwrap());
    let overflow = |stream| Some(ConnectionError::CreditOverflow { stream: id(stream) });
    check(&[credit(0, 0x7fff_ffff)], overflow(0));
    check(&[open_frame(1, b""), credit(1, 0x7fff_ffff)], overflow(1));
    check(&[open_frame(1, b""), credit(1, 0x7fff_0000)], None);
    check(
        &[
            open_frame(1, b""),
            credit(1, 0x7fff_0000),
            credit(1, 0x1_0000),
        ],
        overflow(1),
    );
}

#[test]
fn using_more_than_was_granted_closes() {
    let exceeded = |stream| Some(ConnectionError::CreditExceeded { stream: id(stream) });
    let full = data_frame(1, Data::whole(&[0; 16_376]));
    check(&[open_frame(1, b""), full.clone(), full.clone()], None);
    // Nothing was released, so one byte more is too much, even for an ended stream's sake.
    let mut pair = Pair::new();
    pair.acceptor.releases = false;
    let more = data_frame(1, Data::whole(b""));
    for frame in [open_frame(1, b""), full.clone(), full, more] {
        pair.acceptor.feed(pair.now, &frame);
    }
    assert_eq!(pair.acceptor.error, exceeded(1));
}

#[test]
fn frames_out_of_place_close() {
    let out_of_place = |stream, kind| {
        Some(ConnectionError::StreamState {
            stream: id(stream),
            kind,
        })
    };
    let signal = |kind: FrameKind, stream| vec![stream, 0, 0, 0, kind.code(), 0, 0, 0];
    // Ids only grow.
    check(
        &[open_frame(3, b""), open_frame(3, b"")],
        out_of_place(3, FrameKind::Open),
    );
    check(
        &[open_frame(3, b""), open_frame(1, b"")],
        out_of_place(1, FrameKind::Open),
    );
    // A stream that was never opened.
    let data = data_frame(5, Data::whole(b"x"));
    check(
        &[open_frame(3, b""), data],
        out_of_place(5, FrameKind::Data),
    );
    for kind in [FrameKind::Stop, FrameKind::Kill] {
        check(&[signal(kind, 1)], out_of_place(1, kind));
    }
    // A skipped id counts as opened.
    check(&[open_frame(3, b""), signal(FrameKind::Kill, 1)], None);
    // A dialer's frames never come from it.
    let end = encode(|out| End::of(Status::Ok).encode(id(1), out).unwrap());
    check(&[open_frame(1, b""), end], out_of_place(1, FrameKind::End));
    let accept = encode(|out| Accept.encode(id(1), out).unwrap());
    check(
        &[open_frame(1, b""), accept],
        out_of_place(1, FrameKind::Accept),
    );
    // Nothing follows the end of the input.
    let over = data_frame(1, Data::END_OF_REQUEST);
    check(
        &[open_frame(1, b""), over.clone(), over],
        out_of_place(1, FrameKind::Data),
    );
}

#[test]
fn fragments_that_do_not_add_up_close() {
    let bad = |reason| {
        Some(ConnectionError::BadFrame {
            kind: FrameKind::Data,
            reason,
        })
    };
    let fragment = |total, more, payload: &'static [u8]| {
        data_frame(
            1,
            Data {
                more,
                total,
                payload,
                ..Data::default()
            },
        )
    };
    let open = open_frame(1, b"");
    let first = fragment(Some(6), true, b"abc");
    check(
        &[open.clone(), first.clone(), fragment(None, false, b"def")],
        None,
    );
    for second in [
        fragment(None, false, b"de"),
        fragment(None, false, b"defg"),
        fragment(None, true, b"def"),
        fragment(Some(9), true, b"def"),
    ] {
        check(
            &[open.clone(), first.clone(), second],
            bad(Malformed::Total),
        );
    }
    check(&[open, fragment(None, true, b"abc")], bad(Malformed::Total));
}

#[test]
fn more_streams_than_announced_close() {
    let mut pair = acceptor(|config| config.limits.streams_max = 2);
    for stream in [1, 3, 5] {
        pair.acceptor.feed(pair.now, &open_frame(stream, b""));
    }
    assert_eq!(
        pair.acceptor.error,
        Some(ConnectionError::StreamsExceeded { max: 2 })
    );
}

#[test]
fn a_pong_that_answers_nothing_is_counted() {
    let mut pair = Pair::new();
    let pong = encode(|out| Pong { payload: 77 }.encode(out).unwrap());
    pair.dialer.feed(pair.now, &pong);
    assert_eq!(pair.dialer.error, None);
    assert_eq!(pair.dialer.connection.stats().pongs_unmatched, 1);
}
