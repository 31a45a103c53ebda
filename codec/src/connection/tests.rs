//! What needs a look inside: exhausted ids, and the parts on their own.

use std::time::{Duration, Instant};

use super::streams::credit::RecvWindow;
use super::streams::recv::{Growth, Place, RecvHalf};
use super::streams::ring::Ring;
use super::{Config, Connection, OpenError, OpenParams};
use crate::wire::Malformed;
use crate::{InstanceId, Metadata, OutBuf, Priority, RequestId, StreamId};

fn open() -> OpenParams<'static> {
    OpenParams {
        request_id: RequestId([0; 16]),
        deadline: None,
        priority: Priority::Middle,
        trace: None,
        endpoint: "a.b.c",
        metadata: Metadata::EMPTY,
    }
}

/// Moves everything from one connection to the other.
fn pass(from: &mut Connection<Vec<u8>>, to: &mut Connection<Vec<u8>>, now: Instant) {
    let mut bytes = Vec::with_capacity(65_536);
    let transmit = from.poll_transmit(now, &mut OutBuf::new(&mut bytes, 65_536));
    assert_eq!(transmit, super::Transmit::Drained);
    let mut chunk = bytes.as_slice();
    while to.read(now, &mut chunk).unwrap().is_some() {}
}

#[test]
fn ids_run_out_at_the_largest() {
    let now = Instant::now();
    let mut dialer: Connection<Vec<u8>> = Connection::new(Config::dialer(None), now);
    let mut acceptor = Connection::new(Config::acceptor(InstanceId::new(1).unwrap()), now);
    pass(&mut dialer, &mut acceptor, now);
    pass(&mut acceptor, &mut dialer, now);
    dialer.core.next_id = Some(StreamId::new(0x7fff_fffd));
    let ids = [0x7fff_fffd, 0x7fff_ffff].map(StreamId::new);
    for id in ids {
        assert_eq!(dialer.open(now, &open(), None, true).unwrap().id, id);
    }
    assert_eq!(
        dialer.open(now, &open(), None, true),
        Err(OpenError::IdsExhausted)
    );
    pass(&mut dialer, &mut acceptor, now);
    assert_eq!(acceptor.streams_open(), 2);
    // What is open goes on.
    dialer.kill(super::StreamHandle {
        id: ids[0],
        slot: 0,
    });
    pass(&mut dialer, &mut acceptor, now);
    assert_eq!(acceptor.stats().streams_killed, 1);
}

#[test]
fn a_ring_holds_each_slot_once_in_order() {
    let mut ring = Ring::default();
    (0..4).for_each(|slot| ring.reserve(slot));
    for slot in [2, 0, 2, 3, 1] {
        ring.push(slot);
    }
    ring.remove(3);
    ring.remove(3);
    assert_eq!(ring.len(), 3);
    ring.rotate();
    // Taken out and put back in before its entry came up, it keeps its place.
    ring.remove(0);
    ring.push(0);
    let order: Vec<_> = std::iter::from_fn(|| ring.pop()).collect();
    assert_eq!(order, [0, 1, 2]);
    assert!(ring.is_empty());
    ring.push(3);
    assert_eq!(
        (ring.front(), ring.pop(), ring.pop()),
        (Some(3), Some(3), None)
    );
}

#[test]
fn fragments_find_their_place() {
    let mut half = RecvHalf::new(1000, Instant::now());
    let mut check = |len, total, more, expected: Result<(u32, u32), Malformed>| {
        let expected = expected.map(|(message_len, offset)| Place {
            message_len,
            offset,
        });
        assert_eq!(half.place(len, total, more), expected);
    };
    check(5, None, false, Ok((5, 0)));
    check(5, None, true, Err(Malformed::Total));
    check(5, Some(12), true, Ok((12, 0)));
    check(5, Some(12), true, Err(Malformed::Total));
    check(7, None, true, Err(Malformed::Total));
    check(6, None, true, Ok((12, 5)));
    check(0, None, false, Err(Malformed::Total));
    check(u32::MAX, None, false, Err(Malformed::Total));
    check(1, None, false, Ok((12, 11)));
    check(0, None, false, Ok((0, 0)));
}

#[test]
fn a_window_grows_only_when_its_half_is_used_up_fast() {
    let now = Instant::now();
    let grown = |after: Duration, held: u32, budget| {
        let mut half = RecvHalf::new(1000, now);
        assert!(half.window.try_use(500 + held));
        half.window.give_back(500);
        assert!(half.window.is_due());
        half.grow(now + after, 1_500, budget)
    };
    let fast = Duration::from_millis(10);
    assert_eq!(grown(fast, 0, u32::MAX), Growth::By(500));
    assert_eq!(grown(fast, 250, 77), Growth::By(77));
    assert_eq!(grown(fast, 251, u32::MAX), Growth::None);
    assert_eq!(grown(fast, 0, 0), Growth::BudgetUsedUp);
    assert_eq!(grown(Duration::from_secs(1), 0, u32::MAX), Growth::None);
}

#[test]
fn a_grant_is_due_at_half_the_window() {
    let mut window = RecvWindow::new(100);
    assert!(window.try_use(60));
    assert!(!window.try_use(41));
    window.give_back(49);
    assert!(!window.is_due());
    window.give_back(1);
    assert!(window.is_due());
    assert_eq!(
        (window.take_grant(), window.available(), window.held()),
        (50, 90, 10)
    );
    assert!(!window.is_due());
}
