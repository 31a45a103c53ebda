use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ringmain_codec::{Config, InstanceId, RequestId, Started, StreamId};
use ringmain_shard::{Inbox, Message};

use super::*;
use crate::call::Call;
use crate::pick::Policy;
use crate::testing::{Script, Seen, acceptor_config, endpoint, id};

/// A dialer with its calls and a scripted responder, over memory.
struct Pair {
    now: Instant,
    dialer: Link,
    calls: Calls<()>,
    acceptor: Link,
    script: Script,
    seen: Arc<Seen>,
}

impl Pair {
    fn new() -> Self {
        Self::with(Config::dialer(Some(id(7))), acceptor_config(id(7)), 1 << 30)
    }

    fn with(dialer: Config, acceptor: Config, reassembly_bytes_max: usize) -> Self {
        let now = Instant::now();
        let seen = Arc::new(Seen::default());
        let mut pair = Self {
            now,
            dialer: Link::new(dialer, now),
            calls: Calls::new(reassembly_bytes_max),
            acceptor: Link::new(acceptor, now),
            script: Script::new(Arc::clone(&seen)),
            seen,
        };
        pair.pump();
        assert!(pair.calls.take_news().ready);
        pair
    }

    /// Moves bytes both ways until both are quiet.
    fn pump(&mut self) {
        loop {
            let there = self.feed_acceptor();
            let back = self.feed_dialer(usize::MAX);
            if !there && !back {
                return;
            }
        }
    }

    fn feed_acceptor(&mut self) -> bool {
        let Some((buf, _)) = self.dialer.poll_send(self.now, true) else {
            return false;
        };
        self.script
            .on_bytes(self.now, &mut self.acceptor, &buf)
            .unwrap();
        self.dialer.sent(buf);
        true
    }

    /// One send of the responder, fed in chunks of `chunk` bytes.
    fn feed_dialer(&mut self, chunk: usize) -> bool {
        let Some((buf, _)) = self.acceptor.poll_send(self.now, true) else {
            return false;
        };
        for chunk in buf.chunks(chunk.min(buf.len())) {
            self.calls
                .on_bytes(self.now, &mut self.dialer, chunk)
                .unwrap();
        }
        self.acceptor.sent(buf);
        true
    }

    fn open(&mut self, request: &str) -> StreamKey {
        self.open_into(request, Sink::Messages(Inbox::default()))
    }

    fn open_into(&mut self, request: &str, sink: Sink) -> StreamKey {
        let call = Call::new(request.as_bytes().to_vec());
        let request = call
            .prepare(&endpoint(), self.now, false, Policy::RoundRobin)
            .unwrap();
        self.calls
            .open_request(self.now, &mut self.dialer, &request, sink, ())
            .unwrap()
    }

    fn next(&mut self, key: StreamKey) -> Poll<Result<Message, Terminal>> {
        if let Some(message) = self.calls.pop(key) {
            return Poll::Ready(Ok(message));
        }
        self.calls
            .poll_end(key, &Context::from_waker(Waker::noop()))
    }

    /// Reads to the end; the lengths of all messages and the terminal.
    fn read_all(&mut self, key: StreamKey) -> (Vec<usize>, Terminal) {
        let mut lens = Vec::new();
        loop {
            match self.next(key) {
                Poll::Ready(Ok(message)) => {
                    lens.push(message.bytes.len());
                    self.calls.give_back(key, &mut self.dialer, message.credit);
                }
                Poll::Ready(Err(end)) => return (lens, end),
                Poll::Pending => {
                    assert!(
                        self.dialer.has_output() || self.acceptor.has_output(),
                        "stuck"
                    );
                    self.pump();
                }
            }
        }
    }

    fn assert_no_credit_lost(&self) {
        let audit = self.dialer.connection().credit_audit();
        assert_eq!(
            audit.connection_received.used,
            audit.connection_received.returned
        );
        assert_eq!(self.calls.reassembly_bytes, 0);
    }
}

#[test]
fn a_response_arrives_whole_in_order_and_ends_once() {
    for chunk in [1, 7, usize::MAX] {
        let mut pair = Pair::new();
        let key = pair.open("tokens 5 100");
        pair.feed_acceptor();
        while pair.feed_dialer(chunk) {}
        let (lens, end) = pair.read_all(key);
        assert_eq!(lens, [100; 5]);
        assert_eq!((end.info.status, end.started), (Status::Ok, Started::Yes));
        assert_eq!(end.info.trailers().first(b"usage"), Some(&b"1"[..]));
        assert_eq!(end.error(id(7)), None);
        let counts = pair.calls.take_counts();
        let expect = CallCounts {
            started: 1,
            ok: 1,
            messages: 5,
            ..CallCounts::default()
        };
        assert_eq!(counts, expect);
        assert!(!pair.calls.table.is_empty());
        pair.calls.release(key, &mut pair.dialer);
        assert!(pair.calls.table.is_empty());
        assert_eq!(pair.seen.killed(), 0);
        pair.assert_no_credit_lost();
    }
}

#[test]
fn a_window_smaller_than_the_response_goes_round() {
    let mut config = Config::dialer(Some(id(7)));
    config.stream_window_max = config.limits.stream_window;
    let mut pair = Pair::with(config, acceptor_config(id(7)), 1 << 30);
    let key = pair.open("tokens 4000 100");
    let (lens, end) = pair.read_all(key);
    assert_eq!((lens.len(), end.info.status), (4000, Status::Ok));
    pair.assert_no_credit_lost();
}

#[test]
fn a_consumer_that_does_not_read_stops_its_own_stream_alone() {
    let mut config = Config::dialer(Some(id(7)));
    config.stream_window_max = config.limits.stream_window;
    let mut pair = Pair::with(config, acceptor_config(id(7)), 1 << 30);
    let slow = pair.open("tokens 1000 1000");
    pair.pump();
    let fast = pair.open("tokens 1000 1000");
    assert_eq!(pair.read_all(fast).0.len(), 1000);
    let waiting = pair.calls.table.find_mut(slow).unwrap();
    let Sink::Messages(inbox) = &waiting.sink else {
        unreachable!()
    };
    assert!(inbox.bytes() <= 32 * 1024);
    assert_eq!(pair.read_all(slow).0.len(), 1000);
    pair.assert_no_credit_lost();
}

#[test]
fn messages_over_the_window_hold_back_when_the_consumer_is_behind() {
    let mut config = Config::dialer(Some(id(7)));
    config.stream_window_max = config.limits.stream_window;
    let mut pair = Pair::with(config, acceptor_config(id(7)), 1 << 30);
    let key = pair.open("tokens 50 100000");
    pair.pump();
    // The first message came in whole though it is over the window; then the window holds.
    assert!(
        pair.calls.reassembly_bytes <= 200_000,
        "{}",
        pair.calls.reassembly_bytes
    );
    let (lens, end) = pair.read_all(key);
    assert_eq!((lens, end.info.status), (vec![100_000; 50], Status::Ok));
    pair.assert_no_credit_lost();
}

#[test]
fn a_full_reassembly_budget_ends_one_stream_as_overloaded() {
    let mut pair = Pair::with(Config::dialer(Some(id(7))), acceptor_config(id(7)), 150_000);
    let first = pair.open("tokens 1 100000");
    pair.pump();
    let second = pair.open("tokens 1 100000");
    pair.pump();
    let (lens, end) = pair.read_all(second);
    assert_eq!((lens.len(), end.info.status), (0, Status::Overloaded));
    assert_eq!(end.limit.as_deref(), Some("reassembly_bytes_max"));
    assert_eq!(pair.calls.take_counts().reassembly_refused, 1);
    assert_eq!(pair.read_all(first).0, [100_000]);
    pair.assert_no_credit_lost();
}

#[test]
fn ends_say_what_the_responder_said() {
    let cases = [
        ("reject", Status::Overloaded, Started::No, 0),
        ("drain", Status::Draining, Started::No, 0),
        ("fail", Status::Application, Started::Yes, 1),
    ];
    for (request, status, started, messages) in cases {
        let mut pair = Pair::new();
        let key = pair.open(request);
        pair.pump();
        let (lens, end) = pair.read_all(key);
        assert_eq!(
            (end.info.status, end.started, lens.len()),
            (status, started, messages)
        );
        assert_eq!(end.is_turned_away(), request == "drain");
        let error = end.error(id(7)).unwrap();
        assert_eq!(error.instance, Some(id(7)));
        if request == "reject" {
            assert_eq!(error.limit.as_deref(), Some("requests_max"));
            assert_eq!(error.retry_after, Some(Duration::from_millis(250)));
            assert_eq!(error.to_string(), "overloaded (started: no): full");
        }
    }
}

#[test]
fn acceptance_is_told_apart_from_rejection() {
    let mut pair = Pair::new();
    let cx = &Context::from_waker(Waker::noop());
    let hanging = pair.open("hang");
    let taken = pair.open("stay 0");
    let rejected = pair.open("reject");
    let empty = pair.open("tokens 0 0");
    pair.pump();
    assert_eq!(pair.calls.poll_accepted(hanging, cx), Poll::Pending);
    assert_eq!(pair.calls.poll_accepted(taken, cx), Poll::Ready(Ok(())));
    assert_eq!(pair.calls.poll_accepted(empty, cx), Poll::Ready(Ok(())));
    let Poll::Ready(Err(end)) = pair.calls.poll_accepted(rejected, cx) else {
        panic!()
    };
    assert_eq!(end.info.status, Status::Overloaded);
}

#[test]
fn stop_delivers_what_is_left_and_its_cancelled_end_is_no_error() {
    let mut pair = Pair::new();
    let key = pair.open("stay 3");
    pair.pump();
    pair.calls.stop(key, &mut pair.dialer);
    pair.pump();
    let (lens, end) = pair.read_all(key);
    assert_eq!((lens, end.info.status), (vec![1; 3], Status::Cancelled));
    assert_eq!(end.error(id(7)), None);
    assert_eq!((pair.seen.stopped(), pair.seen.killed()), (1, 0));
    assert_eq!(pair.calls.take_counts().cancelled, 1);
}

#[test]
fn every_local_end_kills_and_is_the_only_terminal() {
    type Act = fn(&mut Pair, StreamKey);
    let cases: [(&str, Act, Status); 2] = [
        (
            "kill",
            |pair, key| pair.calls.kill(key, &mut pair.dialer),
            Status::Killed,
        ),
        (
            "expire",
            |pair, key| pair.calls.expire(key, &mut pair.dialer),
            Status::DeadlineExceeded,
        ),
    ];
    for (name, act, status) in cases {
        for (request, started) in [("hang", Started::Unknown), ("stay 2", Started::Yes)] {
            let mut pair = Pair::new();
            let key = pair.open(request);
            pair.pump();
            act(&mut pair, key);
            act(&mut pair, key);
            pair.pump();
            let (_, end) = pair.read_all(key);
            assert_eq!(
                (end.info.status, end.started),
                (status, started),
                "{name} {request}"
            );
            assert_eq!(pair.seen.killed(), 1, "{name} {request}");
            let counts = pair.calls.take_counts();
            assert_eq!(
                counts.ok + counts.cancelled + counts.failed,
                1,
                "{name} {request}"
            );
            pair.assert_no_credit_lost();
        }
    }
}

#[test]
fn a_consumer_that_lets_go_kills() {
    let mut pair = Pair::new();
    let key = pair.open("stay 2");
    pair.pump();
    pair.calls.release(key, &mut pair.dialer);
    assert!(pair.calls.table.is_empty());
    pair.pump();
    assert_eq!(pair.seen.killed(), 1);
    assert_eq!(pair.calls.take_counts().cancelled, 1);
    let next = pair.open("tokens 1 1");
    pair.pump();
    assert!(
        matches!(pair.next(key), Poll::Ready(Err(_))),
        "a released key finds nothing"
    );
    assert_eq!(pair.read_all(next).0, [1]);
}

#[test]
fn goaway_refuses_what_is_above_and_lets_the_rest_end() {
    let mut pair = Pair::new();
    let taken = pair.open("goaway");
    pair.pump();
    assert_eq!(pair.calls.take_news().goaway, Some(Status::Draining));
    pair.calls.expire(taken, &mut pair.dialer);

    // The responder says goodbye while an OPEN is on its way.
    let mut pair = Pair::new();
    let staying = pair.open("stay 1");
    pair.pump();
    let late = pair.open("tokens 1 1");
    pair.acceptor.goaway(Status::Draining, "bye");
    while pair.feed_dialer(usize::MAX) {}
    let (_, end) = pair.read_all(late);
    assert_eq!(
        (end.info.status, end.started),
        (Status::Draining, Started::No)
    );
    assert!(end.is_turned_away());
    assert!(matches!(pair.next(staying), Poll::Ready(Ok(_))));
    assert!(pair.next(staying).is_pending());
}

#[test]
fn a_lost_link_ends_every_stream_once_and_says_what_had_started() {
    let mut pair = Pair::new();
    let accepted: Vec<_> = (0..100).map(|_| pair.open("stay 1")).collect();
    let hanging: Vec<_> = (0..50).map(|_| pair.open("hang")).collect();
    pair.pump();
    let unsent: Vec<_> = (0..50).map(|_| pair.open("stay 1")).collect();
    let done = pair.open("tokens 1 1");
    pair.calls.release(done, &mut pair.dialer);
    pair.dialer.fail();
    pair.calls
        .fail_all(&mut pair.dialer, Status::ConnectionLost, "reset");
    let groups = [
        (accepted, Started::Yes, 1),
        (hanging, Started::Unknown, 0),
        (unsent, Started::No, 0),
    ];
    for (keys, started, messages) in groups {
        for key in keys {
            let mut lens = 0;
            let end = loop {
                match pair.next(key) {
                    Poll::Ready(Ok(_)) => lens += 1,
                    Poll::Ready(Err(end)) => break end,
                    Poll::Pending => panic!("no terminal"),
                }
            };
            assert_eq!((end.started, lens), (started, messages));
            assert_eq!(end.info.status, Status::ConnectionLost);
            pair.calls.forget(key);
        }
    }
    assert!(pair.calls.table.is_empty());
    assert_eq!(pair.calls.take_counts().failed, 200);
}

#[test]
fn pieces_come_as_they_arrive_and_return_credit_only_when_taken() {
    let mut config = Config::dialer(Some(id(7)));
    config.stream_window_max = config.limits.stream_window;
    let mut pair = Pair::with(config, acceptor_config(id(7)), 1 << 30);
    let key = pair.open_into("tokens 2 50000", Sink::pieces());
    pair.pump();
    let refused = pair.calls.pop_piece_if(key, |_, _| false);
    assert_eq!(refused, Some(None));
    let mut ends = Vec::new();
    let mut at = 0;
    loop {
        let Some((piece, credit)) = pair.calls.pop_piece(key) else {
            pair.pump();
            if pair.calls.pop_piece_if(key, |_, _| false).is_none() {
                break;
            }
            continue;
        };
        assert_eq!(
            (piece.message_len, piece.message_offset),
            (Some(50_000), at)
        );
        at += u32::try_from(piece.bytes.len()).unwrap();
        if piece.message_end {
            ends.push(at);
            at = 0;
        }
        pair.calls.give_back(key, &mut pair.dialer, credit);
    }
    assert_eq!(ends, [50_000; 2]);
    assert_eq!(pair.read_all(key).1.info.status, Status::Ok);
    pair.assert_no_credit_lost();
}

#[test]
fn a_consumer_elsewhere_gets_batches_and_reports_back() {
    let mut config = Config::dialer(Some(id(7)));
    config.stream_window_max = config.limits.stream_window;
    let mut pair = Pair::with(config, acceptor_config(id(7)), 1 << 30);
    let key = pair.open("tokens 20 40000");
    let mut there = Inbox::default();
    let mut messages = 0;
    let end = loop {
        pair.pump();
        let handed = pair.calls.hand_over(key, &mut there);
        if let (Some(end), 0) = (&handed.end, there.ready()) {
            break end.clone();
        }
        assert!(handed.report_empty || handed.end.is_some());
        let (mut credit, mut reserved_bytes) = (0, 0);
        while let Some(message) = there.pop() {
            messages += 1;
            credit += message.credit;
            reserved_bytes += message.bytes.len();
        }
        let took = Took {
            credit,
            reserved_bytes,
            all: true,
        };
        pair.calls.consumer_took(key, &mut pair.dialer, took);
    };
    assert_eq!((messages, end.info.status), (20, Status::Ok));
    pair.calls.forget(key);
    pair.assert_no_credit_lost();
}

#[test]
fn streams_with_news_are_woken_once_and_in_order() {
    let mut pair = Pair::new();
    let keys: Vec<_> = (0..3).map(|_| pair.open("stay 5")).collect();
    pair.pump();
    let touched: Vec<_> = std::iter::from_fn(|| pair.calls.next_touched()).collect();
    assert_eq!(touched, keys);
    assert_eq!(pair.calls.next_touched(), None);
}

#[test]
fn requests_carry_what_the_call_said() {
    let mut pair = Pair::new();
    let call = Call::new("hang")
        .deadline(Duration::from_secs(5))
        .request_id(RequestId([3; 16]))
        .metadata("tenant", "a");
    let request = call
        .prepare(&endpoint(), pair.now, false, Policy::RoundRobin)
        .unwrap();
    assert_eq!(request.request_id, RequestId([3; 16]));
    pair.now += Duration::from_secs(1);
    let sink = Sink::Messages(Inbox::default());
    let key = pair
        .calls
        .open_request(pair.now, &mut pair.dialer, &request, sink, ())
        .unwrap();
    assert_eq!(pair.calls.handle(key).unwrap().id, StreamId::new(1));
    pair.pump();
    assert_eq!(
        *pair.seen.deadlines.lock().unwrap(),
        [Some(Duration::from_secs(4))]
    );
    let bad = Call::new("x").metadata("Not A Key", "a");
    assert!(
        bad.prepare(&endpoint(), pair.now, false, Policy::RoundRobin)
            .is_err()
    );
    assert!(InstanceId::new(0).is_none());
}
