//! Requests and responses of every length, whole and in order.

use std::time::Duration;

use ringmain_codec::{
    EndParams, Event, Metadata, OpenParams, OutBuf, Priority, SendError, Started, Status,
    TraceContext, TrySend,
};

use crate::harness::{Note, Pair, params, pattern};

#[test]
fn a_stream_lives_and_ends() {
    let mut pair = Pair::new();
    let stream = pair.open(b"tell me");
    pair.settle();
    assert_eq!(
        pair.acceptor.take_notes(),
        [Note::Open(1), Note::EndRequest(1)]
    );
    assert_eq!(pair.acceptor.messages(stream), [b"tell me".to_vec()]);
    let peer = pair.peer(stream);
    pair.acceptor.connection.accept(peer);
    pair.settle();
    for token in ["one", "", "two"] {
        pair.acceptor.connection.send(peer, token.into()).unwrap();
    }
    pair.end(stream, Status::Ok);
    pair.settle();
    assert_eq!(
        pair.dialer.messages(stream),
        [b"one".to_vec(), vec![], b"two".to_vec()]
    );
    let notes = [Note::Accepted(1), Note::End(1, Status::Ok, Started::Yes)];
    assert_eq!(pair.dialer.take_notes(), notes);
    pair.finish_and_audit();
}

#[test]
fn requests_of_every_length_arrive() {
    let mut pair = Pair::new();
    for len in [0, 1, 100, 16_000, 16_300, 16_400, 32_768, 40_000, 300_000] {
        let stream = pair.open(&pattern(len));
        pair.settle();
        assert_eq!(pair.acceptor.messages(stream), [pattern(len)], "{len}");
        let id = stream.id.value();
        assert_eq!(
            pair.acceptor.take_notes(),
            [Note::Open(id), Note::EndRequest(id)]
        );
        let peer = pair.peer(stream);
        pair.acceptor.connection.send(peer, pattern(len)).unwrap();
        pair.end(stream, Status::Ok);
        pair.settle();
        assert_eq!(pair.dialer.messages(stream), [pattern(len)], "{len}");
    }
    pair.finish_and_audit();
}

#[test]
fn the_request_may_be_a_stream() {
    let mut pair = Pair::new();
    let stream = pair.open_input(None, false);
    pair.dialer.connection.send(stream, b"a".to_vec()).unwrap();
    pair.settle();
    pair.dialer.connection.send(stream, b"b".to_vec()).unwrap();
    pair.settle();
    assert_eq!(pair.acceptor.take_notes(), [Note::Open(1)]);
    pair.dialer.connection.finish(stream);
    assert_eq!(
        pair.dialer.connection.send(stream, vec![]),
        Err(SendError::Finished)
    );
    pair.settle();
    assert_eq!(pair.acceptor.take_notes(), [Note::EndRequest(1)]);
    assert_eq!(
        pair.acceptor.messages(stream),
        [b"a".to_vec(), b"b".to_vec()]
    );
    pair.end(stream, Status::Ok);
    pair.settle();
    assert_eq!(
        pair.dialer.take_notes(),
        [Note::End(1, Status::Ok, Started::Yes)]
    );
    pair.finish_and_audit();
}

#[test]
fn input_without_a_message_ends_at_once() {
    let mut pair = Pair::new();
    let stream = pair.open_input(None, true);
    pair.settle();
    assert_eq!(
        pair.acceptor.take_notes(),
        [Note::Open(1), Note::EndRequest(1)]
    );
    assert!(pair.acceptor.messages(stream).is_empty());
}

#[test]
fn open_carries_what_was_asked() {
    let mut pair = Pair::new();
    let trace = TraceContext {
        trace_id: [1; 16],
        span_id: [2; 8],
        flags: 1,
    };
    let mut bytes = Vec::new();
    let open = OpenParams {
        deadline: Some(Duration::from_millis(500)),
        priority: Priority::High,
        trace: Some(trace),
        metadata: Metadata::encode_pairs([("tenant", "blue")], &mut bytes).unwrap(),
        ..params()
    };
    pair.dialer
        .connection
        .open(pair.now, &open, Some(vec![5; 3]), true)
        .unwrap();
    // The deadline shrinks while OPEN waits.
    pair.now += Duration::from_millis(100);
    let (bytes, _) = pair.dialer.transmit(pair.now);
    let mut chunk = bytes.as_slice();
    let event = pair.acceptor.connection.read(pair.now, &mut chunk).unwrap();
    let Some(Event::Open { open, credit, .. }) = event else {
        panic!("{event:?}")
    };
    assert_eq!(open.deadline, Some(Duration::from_millis(400)));
    assert_eq!((open.priority, open.trace), (Priority::High, Some(trace)));
    assert_eq!(open.metadata.first(b"tenant"), Some(b"blue".as_slice()));
    assert_eq!(
        (open.endpoint, open.request, credit),
        ("prod.worker.generate", &[5; 3][..], 3)
    );
}

#[test]
fn end_carries_what_was_said_and_cuts_long_texts() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    let peer = pair.peer(stream);
    let message = "ä".repeat(1000);
    let limit = "l".repeat(100);
    let end = EndParams {
        message: &message,
        retry_after: Some(Duration::from_millis(20)),
        limit: Some(&limit),
        ..EndParams::new(Status::Overloaded)
    };
    pair.acceptor.connection.end(peer, end);
    let (bytes, _) = pair.acceptor.transmit(pair.now);
    let event = pair
        .dialer
        .connection
        .read(pair.now, &mut bytes.as_slice())
        .unwrap();
    let Some(Event::End { end, started, .. }) = event else {
        panic!("{event:?}")
    };
    assert_eq!(end.message, "ä".repeat(512));
    assert_eq!(end.limit, Some(&limit[..64]));
    assert_eq!(end.retry_after, Some(Duration::from_millis(20)));
    assert_eq!((end.status, started), (Status::Overloaded, Started::No));
}

#[test]
fn a_direct_message_is_one_frame_and_implies_accept() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    let peer = pair.peer(stream);
    pair.acceptor.connection.accept(peer);
    assert!(pair.acceptor.connection.take_urgent());
    let mut bytes = Vec::with_capacity(4096);
    let mut out = OutBuf::new(&mut bytes, 4096);
    let sent = pair.acceptor.connection.try_send(peer, b"token", &mut out);
    assert_eq!(sent, Ok(TrySend::Written));
    assert!(
        pair.acceptor.connection.take_urgent(),
        "the first token is urgent"
    );
    let sent = pair.acceptor.connection.try_send(peer, b"token", &mut out);
    assert_eq!(sent, Ok(TrySend::Written));
    assert!(!pair.acceptor.connection.take_urgent());
    assert_eq!(bytes.len(), 2 * (8 + 5));
    assert!(
        !pair.acceptor.connection.wants_transmit(),
        "ACCEPT is implied"
    );
    pair.dialer.feed(pair.now, &bytes);
    assert_eq!(pair.dialer.messages(stream).len(), 2);
    assert_eq!(pair.dialer.take_notes(), []);
    pair.end(stream, Status::Internal);
    pair.settle();
    assert_eq!(
        pair.dialer.take_notes(),
        [Note::End(1, Status::Internal, Started::Yes)]
    );
}

#[test]
fn a_direct_message_never_overtakes_a_queued_one() {
    let mut pair = Pair::new();
    let (first, second) = (pair.open(b""), pair.open(b""));
    pair.settle();
    let (first, second) = (pair.peer(first), pair.peer(second));
    pair.acceptor.connection.send(first, b"1".to_vec()).unwrap();
    let mut bytes = Vec::with_capacity(100);
    for stream in [first, second] {
        let mut out = OutBuf::new(&mut bytes, 100);
        let sent = pair.acceptor.connection.try_send(stream, b"2", &mut out);
        assert_eq!(sent, Ok(TrySend::Queued));
    }
    let (written, _) = pair.acceptor.transmit(pair.now);
    assert_eq!(written.len(), 9);
    let mut out = OutBuf::new(&mut bytes, 12);
    let sent = pair.acceptor.connection.try_send(first, b"12345", &mut out);
    assert_eq!(sent, Ok(TrySend::NoRoom));
    assert_eq!(out.written(), 0);
    let mut out = OutBuf::new(&mut bytes, 13);
    let sent = pair.acceptor.connection.try_send(first, b"12345", &mut out);
    assert_eq!(sent, Ok(TrySend::Written));
}

#[test]
fn fragments_pass_without_being_put_together() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    let peer = pair.peer(stream);
    let whole = pattern(1000);
    let mut bytes = Vec::with_capacity(4096);
    let connection = &mut pair.acceptor.connection;
    let mut out = OutBuf::new(&mut bytes, 4096);
    let sent = connection.try_send_fragment(peer, &whole[..300], 1000, false, &mut out);
    assert_eq!(sent, Ok(TrySend::Written));
    // Another message cannot come between, nor can fragments that do not add up.
    assert_eq!(
        connection.try_send(peer, b"x", &mut out),
        Err(SendError::Fragment)
    );
    assert_eq!(connection.send(peer, vec![1]), Err(SendError::Fragment));
    let sum = connection.try_send_fragment(peer, &whole[300..], 1000, false, &mut out);
    assert_eq!(sum, Err(SendError::Fragment));
    let short = connection.try_send_fragment(peer, &whole[300..400], 1000, true, &mut out);
    assert_eq!(short, Err(SendError::Fragment));
    pair.dialer.feed(pair.now, &bytes);
    // The next one waits in the queue, the last one behind it too.
    let connection = &mut pair.acceptor.connection;
    connection
        .send_fragment(peer, whole[300..600].to_vec(), 1000, false)
        .unwrap();
    connection
        .send_fragment(peer, whole[600..].to_vec(), 1000, true)
        .unwrap();
    connection.send(peer, b"next".to_vec()).unwrap();
    pair.settle();
    assert_eq!(pair.dialer.messages(stream), [whole, b"next".to_vec()]);
    pair.finish_and_audit();
}

#[test]
fn an_end_stays_behind_its_data_and_discards_it_when_told() {
    for discard_queued in [false, true] {
        let mut pair = Pair::new();
        let stream = pair.open(b"");
        pair.settle();
        let peer = pair.peer(stream);
        pair.dialer.releases = false;
        pair.acceptor
            .connection
            .send(peer, pattern(100_000))
            .unwrap();
        pair.settle();
        let end = EndParams {
            discard_queued,
            ..EndParams::new(Status::Ok)
        };
        pair.acceptor.connection.end(peer, end);
        assert_eq!(
            pair.acceptor.connection.send(peer, vec![]),
            Err(SendError::Gone)
        );
        pair.settle();
        let ended = pair.dialer.take_notes() == [Note::End(1, Status::Ok, Started::Yes)];
        assert_eq!(ended, discard_queued, "the rest waits for credit");
        pair.finish_and_audit();
        assert_eq!(
            pair.dialer.messages(stream).len(),
            usize::from(!discard_queued)
        );
        assert_eq!(pair.dialer.terminals[&1], 1);
    }
}

#[test]
fn the_queue_is_bounded_and_takes_one_long_message() {
    let mut pair = Pair::new();
    let stream = pair.open(b"");
    pair.settle();
    let peer = pair.peer(stream);
    let connection = &mut pair.acceptor.connection;
    let max = 1024 * 1024;
    connection.send(peer, vec![0; 3 * max]).unwrap();
    assert_eq!(connection.queued_bytes(peer), 3 * max);
    assert_eq!(connection.send(peer, vec![0]), Err(SendError::QueueFull));
    assert_eq!(connection.stats().queue_full, 1);
    pair.finish_and_audit();
    assert_eq!(pair.dialer.messages(stream), [vec![0; 3 * max]]);
}
