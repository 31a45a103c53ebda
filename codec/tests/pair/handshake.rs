//! Who may talk to whom, and how a refusal reads at both ends.

use std::time::Duration;

use ringmain_codec::wire::LooksLike;
use ringmain_codec::{
    Config, ConnectionError, ConnectionState, InstanceId, OpenError, Role, Status,
};

use crate::harness::{INSTANCE, Note, Pair, acceptor_config, instance, params};

#[test]
fn both_ends_become_ready_and_know_each_other() {
    let mut config = Config::dialer(Some(instance()));
    config.features = 0b110;
    let mut acceptor = acceptor_config();
    acceptor.features = 0b011;
    acceptor.limits.message_bytes_max = 77;
    let pair = Pair::connected(config, acceptor);
    let peer = pair.dialer.connection.peer().unwrap();
    assert_eq!(peer.instance, Some(instance()));
    assert_eq!((peer.version, peer.features), (1, 0b010));
    assert_eq!(peer.limits.message_bytes_max, 77);
    let peer = pair.acceptor.connection.peer().unwrap();
    assert_eq!((peer.instance, peer.features), (None, 0b010));
    assert_eq!(pair.acceptor.connection.state(), ConnectionState::Ready);
}

#[test]
fn a_stale_instance_is_named_at_both_ends() {
    let expected = InstanceId::new(99).unwrap();
    let mut pair = Pair::unconnected(Config::dialer(Some(expected)), acceptor_config());
    pair.settle();
    let error = ConnectionError::StaleInstance {
        expected,
        actual: instance(),
    };
    assert_eq!(pair.acceptor.error, Some(error));
    assert_eq!(pair.dialer.error, Some(error));
    assert_eq!(error.status(), Status::StaleInstance);
    assert_eq!(instance().value(), INSTANCE);
}

#[test]
fn other_protocols_are_recognized() {
    let check = |bytes: &[u8], looks_like| {
        let mut pair = Pair::unconnected(Config::dialer(None), acceptor_config());
        pair.acceptor.feed(pair.now, bytes);
        assert_eq!(
            pair.acceptor.error,
            Some(ConnectionError::NotRingmain(looks_like))
        );
        assert!(
            !pair.acceptor.connection.wants_transmit(),
            "nothing is said to a stranger"
        );
    };
    check(b"GET / HTTP/1.1\r\n", LooksLike::Http);
    check(b"P", LooksLike::Http);
    check(&[0x16, 0x03, 0x01, 0x02, 0x00], LooksLike::Tls);
    // A HELLO but for its magic.
    let mut hello = [0; 60];
    hello[..12].copy_from_slice(b"\0\0\0\0\x01\0\x34\0GNIR");
    check(&hello, LooksLike::Unknown);
    check(&hello[..10], LooksLike::Unknown);
    check(&[0xff; 64], LooksLike::Unknown);
}

#[test]
fn a_version_that_does_not_fit_is_refused_with_a_reason() {
    let mut pair = Pair::unconnected(Config::dialer(None), acceptor_config());
    let (mut hello, _) = pair.dialer.transmit(pair.now);
    // Versions stand behind header and magic.
    hello[12..16].copy_from_slice(&[9, 0, 12, 0]);
    pair.acceptor.feed(pair.now, &hello);
    let error = ConnectionError::Version {
        ours: 1,
        peer_min: 9,
        peer_max: 12,
    };
    assert_eq!(pair.acceptor.error, Some(error));
    pair.settle();
    assert_eq!(
        pair.dialer.error,
        Some(ConnectionError::PeerClosed(Status::ProtocolError))
    );
}

#[test]
fn a_peer_that_never_finishes_its_handshake_is_given_up() {
    for role in [
        acceptor_config().role,
        Role::Dialer {
            expected_instance: None,
        },
    ] {
        let config = Config {
            role,
            ..acceptor_config()
        };
        let mut pair = Pair::unconnected(config, acceptor_config());
        let side = &mut pair.dialer.connection;
        let deadline = side.poll_timeout().unwrap();
        assert_eq!(deadline, pair.now + config.handshake_timeout);
        // A slow byte does not prolong it.
        let just_before = deadline - Duration::from_millis(1);
        assert!(matches!(
            side.read(just_before, &mut [0_u8].as_slice()),
            Ok(None)
        ));
        assert_eq!(side.handle_timeout(just_before), Ok(()));
        assert_eq!(
            side.handle_timeout(deadline),
            Err(ConnectionError::HandshakeTimeout)
        );
        assert_eq!(side.poll_timeout(), None);
    }
}

#[test]
fn nothing_is_opened_before_the_handshake() {
    let mut pair = Pair::unconnected(Config::dialer(None), acceptor_config());
    let opened = pair.dialer.connection.open(pair.now, &params(), None, true);
    assert_eq!(opened, Err(OpenError::NotReady));
    let opened = pair
        .acceptor
        .connection
        .open(pair.now, &params(), None, true);
    assert_eq!(opened, Err(OpenError::NotReady));
    pair.settle();
    assert!(
        pair.dialer
            .connection
            .open(pair.now, &params(), None, true)
            .is_ok()
    );
}

#[test]
fn frames_before_the_handshake_close_the_connection() {
    // PING on the connection, before HELLO.
    let mut pair = Pair::unconnected(Config::dialer(None), acceptor_config());
    pair.acceptor
        .feed(pair.now, &[0, 0, 0, 0, 10, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(
        pair.acceptor.error,
        Some(ConnectionError::NotRingmain(LooksLike::Unknown))
    );
    // A second HELLO.
    let mut pair = Pair::unconnected(Config::dialer(None), acceptor_config());
    let (hello, _) = pair.dialer.transmit(pair.now);
    pair.acceptor.feed(pair.now, &hello);
    assert_eq!(pair.acceptor.take_notes(), [Note::Ready]);
    pair.acceptor.feed(pair.now, &hello);
    assert!(matches!(
        pair.acceptor.error,
        Some(ConnectionError::StreamState { .. })
    ));
}
