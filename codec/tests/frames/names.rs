//! Ids, priorities and the status registry.

use std::collections::{BTreeSet, HashMap};

use ringmain_codec::wire::FrameKind;
use ringmain_codec::{
    Blame, EndpointId, EndpointIdError, InstanceId, Priority, RequestId, Started, Status, StreamId,
};

#[test]
fn instance_ids_are_sixteen_digits() {
    let id = InstanceId::new(0xbeef).unwrap();
    assert_eq!(id.to_string(), "000000000000beef");
    assert_eq!("000000000000beef".parse(), Ok(id));
    assert_eq!("000000000000BEEF".parse(), Ok(id));
    assert_eq!(format!("{id:?}"), "InstanceId(000000000000beef)");
    assert_eq!(InstanceId::new(0), None);
    for text in [
        "",
        "beef",
        "0000000000000000",
        "+00000000000beef",
        "0x0000000000beef",
        "é",
    ] {
        assert!(text.parse::<InstanceId>().is_err(), "{text}");
    }
}

#[test]
fn request_ids_show_their_bytes_in_order() {
    let id = RequestId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff]);
    assert_eq!(id.to_string(), "000102030405060708090a0b0c0d0eff");
}

#[test]
fn stream_ids_grow_by_two_until_they_are_used_up() {
    let next = |id: u32| StreamId::new(id).next().map(StreamId::value);
    assert_eq!(next(1), Some(3));
    assert_eq!(next(0x7fff_fffd), Some(0x7fff_ffff));
    assert_eq!(next(0x7fff_fffe), None);
    assert_eq!(next(0x7fff_ffff), None);
    assert_eq!(next(u32::MAX), None);
    assert!(StreamId::DIALER_FIRST.is_dialer());
    assert!(!StreamId::CONNECTION.is_dialer());
}

#[test]
fn endpoint_ids_have_three_labels_or_more() {
    let id = EndpointId::parse("eu.prod.worker.generate").unwrap();
    assert_eq!(
        (id.namespace(), id.component(), id.name()),
        ("eu.prod", "worker", "generate")
    );
    let map = HashMap::from([(id.clone(), 7)]);
    assert_eq!(
        map.get("eu.prod.worker.generate"),
        Some(&7),
        "found without an id of its own"
    );
    assert!(BTreeSet::from([id]).contains("eu.prod.worker.generate"));

    let label = "x".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "y".repeat(63));
    assert_eq!(longest.len(), 255);
    assert_eq!(EndpointId::parse(&longest).unwrap().as_str(), longest);
    for (text, error) in [
        ("", EndpointIdError::LabelLength),
        ("a", EndpointIdError::TooFewLabels),
        ("a.b", EndpointIdError::TooFewLabels),
        ("a..b", EndpointIdError::LabelLength),
        (".a.b.c", EndpointIdError::LabelLength),
        ("a.b.c.", EndpointIdError::LabelLength),
        ("a.b.C", EndpointIdError::Character),
        ("a.b.c d", EndpointIdError::Character),
        ("a.b.\u{e9}", EndpointIdError::Character),
        ("a.b.c\0", EndpointIdError::Character),
        (&format!("a.b.{label}x"), EndpointIdError::LabelLength),
        (&format!("{longest}z"), EndpointIdError::TooLong),
    ] {
        assert_eq!(EndpointId::parse(text), Err(error), "{text:?}");
        assert_eq!(EndpointId::check(text.as_bytes()), Err(error), "{text:?}");
    }
    assert!(EndpointId::check(b"a.b.\xff").is_err());
}

#[test]
fn priorities_map_both_ways() {
    for code in 0..=u8::MAX {
        let back = Priority::from_code(code).map(Priority::code);
        assert_eq!(back, (code < 3).then_some(code));
    }
    assert_eq!(Priority::default(), Priority::Middle);
}

#[test]
fn every_code_has_a_status_and_every_status_a_code() {
    for code in 0..=u16::MAX {
        let status = Status::from_code(code);
        assert_eq!(status.code(), code);
        let is_known = Status::KNOWN.contains(&status);
        assert_eq!(is_known, !matches!(status, Status::Unknown(_)), "{code}");
        assert_eq!(
            is_known,
            usize::from(code) < Status::KNOWN.len(),
            "codes have no gaps"
        );
    }
}

#[test]
fn statuses_have_names_of_their_own() {
    let names: BTreeSet<_> = Status::KNOWN.iter().map(|status| status.name()).collect();
    assert_eq!(names.len(), Status::KNOWN.len());
    for name in names {
        assert!(
            name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{name}"
        );
        assert_ne!(name, "unknown");
    }
    let later = Status::from_code(4_000);
    assert_eq!(
        (later.name(), later.to_string().as_str()),
        ("unknown", "unknown(4000)")
    );
    assert_eq!((later.blame(), later.is_retry_safe()), (Blame::Peer, false));
}

#[test]
fn only_refusals_before_the_start_are_safe_to_retry() {
    let safe: Vec<_> = Status::KNOWN
        .iter()
        .filter(|s| s.is_retry_safe())
        .copied()
        .collect();
    let (busy, moved) = (
        [Status::Overloaded, Status::Draining],
        Status::StaleInstance,
    );
    assert_eq!(safe, [busy[0], busy[1], Status::UnknownEndpoint, moved]);
}

#[test]
fn kinds_map_both_ways() {
    for code in 0..=u8::MAX {
        let kind = FrameKind::from_code(code);
        assert_eq!(
            kind.map(FrameKind::code),
            (1..=12).contains(&code).then_some(code)
        );
    }
}

#[test]
fn words_for_logs() {
    let started = [Started::No, Started::Unknown, Started::Yes].map(|s| s.to_string());
    assert_eq!(started, ["no", "unknown", "yes"]);
    let blame = [Blame::Caller, Blame::Peer, Blame::Network, Blame::Us].map(|b| b.to_string());
    assert_eq!(blame, ["caller", "peer", "network", "us"]);
}
