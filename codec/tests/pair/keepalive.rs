//! Silence, and whose fault it is.

use std::time::Duration;

use ringmain_codec::{Config, ConnectionError};

use crate::harness::{Note, Pair, acceptor_config};

const IDLE: Duration = Duration::from_secs(30);
const ACTIVE: Duration = Duration::from_secs(1);

/// Lets the dialer's timer fire when it is due, with a peer that does not answer.
fn silence(pair: &mut Pair) -> Result<(), ConnectionError> {
    pair.now = pair.dialer.connection.poll_timeout().unwrap();
    let result = pair.dialer.connection.handle_timeout(pair.now);
    let (_, _) = pair.dialer.transmit(pair.now);
    result
}

#[test]
fn an_idle_link_is_pinged_and_answers() {
    let mut pair = Pair::new();
    let heard = pair.now;
    assert_eq!(pair.dialer.connection.poll_timeout(), Some(heard + IDLE));
    pair.now = heard + IDLE - Duration::from_millis(1);
    pair.dialer.connection.handle_timeout(pair.now).unwrap();
    assert!(
        !pair.dialer.connection.wants_transmit(),
        "early is harmless"
    );
    pair.now = heard + IDLE;
    pair.dialer.connection.handle_timeout(pair.now).unwrap();
    pair.settle();
    assert_eq!(pair.dialer.take_notes(), [Note::Pong(2 * pair.latency)]);
    // The answer was a byte: the silence starts anew, at both ends.
    assert_eq!(pair.dialer.connection.poll_timeout(), Some(pair.now + IDLE));
    assert!(pair.acceptor.connection.poll_timeout() > Some(heard + IDLE));
}

#[test]
fn an_open_stream_shortens_the_interval() {
    let mut pair = Pair::new();
    pair.now += Duration::from_secs(20);
    pair.open(b"");
    let due = pair.now + ACTIVE;
    assert_eq!(
        pair.dialer.connection.poll_timeout(),
        Some(due),
        "counted from the opening"
    );
}

#[test]
fn a_silent_peer_is_given_up_after_three_misses() {
    let mut pair = Pair::new();
    pair.open(b"");
    let start = pair.now;
    for _ in 0..3 {
        assert_eq!(silence(&mut pair), Ok(()));
    }
    assert_eq!(silence(&mut pair), Err(ConnectionError::PeerUnresponsive));
    assert_eq!(pair.now, start + 4 * ACTIVE);
    assert_eq!(pair.dialer.connection.stats().keepalive_misses, 3);
    assert_eq!(pair.dialer.connection.stats().pings_sent, 3);
}

#[test]
fn any_byte_is_liveness() {
    let mut pair = Pair::new();
    pair.open(b"");
    // Never a whole frame, but a byte of a header each time before the last chance.
    for _ in 0..6 {
        for _ in 0..3 {
            silence(&mut pair).unwrap();
        }
        pair.dialer.feed(pair.now, &[0]);
    }
    assert_eq!(pair.dialer.error, None);
    assert_eq!(pair.dialer.connection.stats().keepalive_misses, 12);
}

#[test]
fn our_own_pause_is_not_the_peers_silence() {
    let mut pair = Pair::new();
    pair.open(b"");
    for _ in 0..3 {
        silence(&mut pair).unwrap();
    }
    // The process stands still; when it goes on, one more interval is granted.
    pair.now += ACTIVE + Duration::from_secs(60);
    assert_eq!(pair.dialer.connection.handle_timeout(pair.now), Ok(()));
    assert_eq!(pair.dialer.connection.stats().keepalive_grants, 1);
    assert_eq!(
        pair.dialer.connection.poll_timeout(),
        Some(pair.now + ACTIVE)
    );
    assert_eq!(silence(&mut pair), Err(ConnectionError::PeerUnresponsive));
}

#[test]
fn a_process_that_is_always_late_finds_a_dead_peer_too() {
    let mut pair = Pair::new();
    pair.open(b"");
    let dead = (0..10).position(|_| {
        pair.now += 5 * ACTIVE;
        pair.dialer.connection.handle_timeout(pair.now).is_err()
    });
    assert_eq!(dead, Some(6));
}

#[test]
fn zero_switches_it_off() {
    let mut config = Config::dialer(None);
    config.limits.keepalive_idle_ms = 0;
    let mut pair = Pair::connected(config, acceptor_config());
    assert_eq!(pair.dialer.connection.poll_timeout(), None);
    pair.open(b"");
    assert!(pair.dialer.connection.poll_timeout().is_some());
}
