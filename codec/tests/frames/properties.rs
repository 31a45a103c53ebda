//! Properties over generated frames and over arbitrary bytes.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ringmain_codec::frame::{Credit, Data, End, Frame, Goaway, Hello, Open, Ping, Split, Welcome};
use ringmain_codec::wire::{FrameKind, Header};
use ringmain_codec::{
    EndpointId, Extensions, InstanceId, Limits, Metadata, OutBuf, Priority, RequestId, Status,
    StreamId, TraceContext,
};

fn encode(frame: &Frame<'_>, stream: StreamId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(frame.encoded_len());
    let mut out = OutBuf::new(&mut bytes, usize::MAX);
    frame
        .encode(stream, &mut out)
        .expect("a valid frame in a buffer of its length");
    assert_eq!(bytes.len(), frame.encoded_len());
    bytes
}

/// Encodes, decodes and compares.
fn round_trip(frame: Frame<'_>, stream: StreamId) {
    let bytes = encode(&frame, stream);
    let Ok(Split::Frame {
        header,
        frame: back,
        rest: [],
    }) = Frame::split_first(&bytes)
    else {
        panic!("{frame:?} became {:?}", Frame::split_first(&bytes));
    };
    assert_eq!((header.stream, back), (stream, frame));
}

/// The whole decoder over bytes from anywhere: it ends, stays inside, and keeps what it read.
fn decode_all(mut bytes: &[u8]) {
    loop {
        match Frame::split_first(bytes) {
            Err(_) => return,
            Ok(Split::Incomplete { missing }) => {
                assert!(missing > 0);
                return;
            }
            Ok(Split::Unknown { header, body, rest }) => {
                assert_eq!(body.len(), usize::from(header.len));
                assert!(header.frame_kind().is_none());
                bytes = rest;
            }
            Ok(Split::Frame {
                header,
                frame,
                rest,
            }) => {
                let used = &bytes[..bytes.len() - rest.len()];
                assert_eq!(
                    Frame::split_first(used),
                    Ok(Split::Frame {
                        header,
                        frame,
                        rest: &[]
                    })
                );
                // Extensions of the handshake are skipped, so those two may come back shorter.
                if !matches!(frame, Frame::Hello(_) | Frame::Welcome(_)) {
                    assert_eq!(encode(&frame, header.stream), used);
                }
                bytes = rest;
            }
        }
    }
}

fn streams() -> impl Strategy<Value = StreamId> {
    (0_u32..0x4000_0000).prop_map(|half| StreamId::new(half * 2 + 1))
}

fn limits() -> impl Strategy<Value = Limits> {
    let windows = 128_u32..0x8000_0000;
    let (any, fragment) = (any::<u32>(), 64_u16..65_532);
    (any, any, windows.clone(), windows, fragment, any, any).prop_map(|l| Limits {
        message_bytes_max: l.0,
        streams_max: l.1,
        stream_window: l.2,
        connection_window: l.3,
        fragment_bytes_max: l.4,
        keepalive_idle_ms: l.5,
        keepalive_active_ms: l.6,
    })
}

fn pairs() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    vec(("[a-z0-9._-]{1,64}", vec(any::<u8>(), 0..40)), 0..12)
}

/// Encoded extensions with keys from 3 up, none critical.
fn extensions() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::btree_map(3_u16..0x8000, vec(any::<u8>(), 0..40), 0..8).prop_map(|all| {
        let mut bytes = Vec::new();
        for (key, value) in all {
            bytes.extend_from_slice(&key.to_le_bytes());
            bytes.extend_from_slice(&u16::try_from(value.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(&value);
        }
        bytes
    })
}

fn micros() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_micros)
}

fn traces() -> impl Strategy<Value = TraceContext> {
    any::<([u8; 16], [u8; 8], u8)>().prop_map(|(trace_id, span_id, flags)| TraceContext {
        trace_id,
        span_id,
        flags,
    })
}

proptest! {
    #[test]
    fn handshakes_round_trip(
        versions in (1_u16..=u16::MAX, 0_u16..100),
        ids in (any::<u64>(), 1_u64..),
        features: u64,
        limits in limits(),
    ) {
        let (version_min, more) = versions;
        let version_max = version_min.saturating_add(more);
        let (expected_instance, instance) = (ids.0, InstanceId::new(ids.1).unwrap());
        let hello = Hello { version_min, version_max, expected_instance, features, limits };
        round_trip(Frame::Hello(hello), StreamId::CONNECTION);
        let welcome = Welcome { version: version_min, instance, features, limits };
        round_trip(Frame::Welcome(welcome), StreamId::CONNECTION);
    }

    #[test]
    fn opens_round_trip(
        stream in streams(),
        ids in any::<[u8; 16]>(),
        deadline in option::of(micros()),
        trace in option::of(traces()),
        priority in 0_u8..3,
        endpoint in "[a-z0-9_-]{1,63}\\.[a-z0-9_-]{1,63}\\.[a-z0-9_-]{1,63}",
        pairs in pairs(),
        extensions in extensions(),
        request in option::of((vec(any::<u8>(), 0..300), 0_u32..3)),
        ends: bool,
    ) {
        let mut encoded = Vec::new();
        let bytes = request.as_ref().map_or(&[][..], |(bytes, _)| bytes);
        let missing = request.as_ref().map_or(0, |(_, missing)| *missing);
        let open = Open {
            request_id: RequestId(ids),
            deadline,
            priority: Priority::from_code(priority).unwrap(),
            trace,
            endpoint: &endpoint,
            metadata: Metadata::encode_pairs(pairs_ref(&pairs), &mut encoded).unwrap(),
            request_len: request.as_ref().map(|_| u32::try_from(bytes.len()).unwrap() + missing),
            request: bytes,
            end_request: ends && missing == 0,
            extensions: Extensions::parse(&extensions, &[]).unwrap(),
        };
        round_trip(Frame::Open(open), stream);
        prop_assert_eq!(open.has_more(), missing > 0);
        let back: Vec<_> = open.metadata.iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        let expected: Vec<_> = pairs.into_iter().map(|(k, v)| (k.into_bytes(), v)).collect();
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn ends_round_trip(
        stream in streams(),
        code: u16,
        message in ".{0,200}",
        retry_after in option::of(micros()),
        limit in option::of("[ -~]{0,64}"),
        pairs in pairs(),
        extensions in extensions(),
    ) {
        let mut encoded = Vec::new();
        let end = End {
            status: Status::from_code(code),
            message: &message,
            trailers: Metadata::encode_pairs(pairs_ref(&pairs), &mut encoded).unwrap(),
            retry_after,
            limit: limit.as_deref(),
            extensions: Extensions::parse(&extensions, &[]).unwrap(),
        };
        round_trip(Frame::End(end), stream);
    }

    #[test]
    fn data_round_trips(
        stream in streams(),
        payload in vec(any::<u8>(), 0..2_000),
        shape in 0..4,
        beyond in 1_u32..,
    ) {
        let whole = Data::whole(&payload);
        let len = u32::try_from(payload.len()).unwrap();
        let data = match shape {
            1 => Data { end_request: true, ..whole },
            2 if len > 0 => Data { more: true, ..whole },
            3 if len > 0 => {
                Data { more: true, total: Some(len.saturating_add(beyond)), ..whole }
            }
            _ => whole,
        };
        round_trip(Frame::Data(data), stream);
    }

    #[test]
    fn small_frames_round_trip(
        stream in streams(),
        bytes in 1_u32..0x8000_0000,
        payload: u64,
        code: u16,
        message in ".{0,200}",
    ) {
        round_trip(Frame::Credit(Credit { bytes }), stream);
        round_trip(Frame::Ping(Ping { payload }), StreamId::CONNECTION);
        let status = Status::from_code(code);
        let goaway = Goaway { last_stream: stream, status, message: &message };
        round_trip(Frame::Goaway(goaway), StreamId::CONNECTION);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..600)) {
        decode_all(&bytes);
    }

    /// A right header in front, so that the bodies are reached.
    #[test]
    fn arbitrary_bodies_never_panic(
        kind in proptest::sample::select(FrameKind::KNOWN),
        flags in 0_u8..16,
        body in vec(prop_oneof![3 => 0_u8..9, 1 => any::<u8>()], 0..200),
        stream in prop_oneof![Just(StreamId::CONNECTION), streams()],
    ) {
        let len = u16::try_from(body.len()).unwrap();
        let mut bytes = Header::new(stream, kind, flags, len).encode().to_vec();
        bytes.extend_from_slice(&body);
        decode_all(&bytes);
    }

    #[test]
    fn headers_round_trip(bytes: [u8; 8]) {
        prop_assert_eq!(Header::parse(&bytes).encode(), bytes);
    }

    #[test]
    fn parts_of_arbitrary_bytes_never_panic(bytes in vec(0_u8..6, 0..200)) {
        if let Ok(metadata) = Metadata::parse(&bytes) {
            let read: usize = metadata.iter().map(|(k, v)| 3 + k.len() + v.len()).sum();
            prop_assert_eq!((read, metadata.iter().count()), (bytes.len(), metadata.len()));
        }
        if let Ok(extensions) = Extensions::parse(&bytes, &[]) {
            let read: usize = extensions.iter().map(|(_, value)| 4 + value.len()).sum();
            prop_assert_eq!(read, bytes.len());
        }
    }

    #[test]
    fn endpoint_ids_keep_their_labels(labels in vec("[a-z0-9_-]{1,63}", 3..6)) {
        let text = labels.join(".");
        let Ok(id) = text.parse::<EndpointId>() else {
            prop_assert!(text.len() > EndpointId::BYTES_MAX);
            return Ok(());
        };
        prop_assert_eq!(id.to_string(), text);
        let (namespace, last) = labels.split_at(labels.len() - 2);
        prop_assert_eq!(id.namespace(), namespace.join("."));
        prop_assert_eq!([id.component(), id.name()], [&last[0], &last[1]]);
    }
}

fn pairs_ref(pairs: &[(String, Vec<u8>)]) -> Vec<(&[u8], &[u8])> {
    pairs
        .iter()
        .map(|(key, value)| (key.as_bytes(), value.as_slice()))
        .collect()
}
