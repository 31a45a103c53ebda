//! Every rule that a frame's fields can break.

use std::time::Duration;

use ringmain_codec::frame::{Credit, End, Frame, Goaway, Hello, Open, Welcome};
use ringmain_codec::wire::{
    EXTENSIONS_BYTES_MAX, EXTENSIONS_MAX, FrameKind, METADATA_BYTES_MAX, METADATA_PAIRS_MAX,
    Malformed,
};
use ringmain_codec::{Extensions, InstanceId, Limits, Metadata, Status, StreamId};

use crate::edges::{STREAM, does_not_encode, encode, on, refuses};
use crate::samples::OPEN_BARE;

fn hello() -> Hello {
    Hello {
        version_min: 1,
        version_max: 1,
        expected_instance: 0,
        features: 0,
        limits: Limits::default(),
    }
}

fn welcome() -> Welcome {
    Welcome {
        version: 1,
        instance: InstanceId::new(5).unwrap(),
        features: 0,
        limits: Limits::default(),
    }
}

#[test]
fn open_fields_are_checked() {
    let open = Frame::Open(Open {
        request_len: Some(3),
        request: b"abc",
        ..OPEN_BARE
    });
    let bare = Frame::Open(OPEN_BARE);
    refuses(bare, |body| body[16] = 1, Malformed::Reserved); // a deadline that is marked absent
    refuses(bare, |body| body[24] = 1, Malformed::Reserved); // a length that is marked absent
    refuses(bare, |body| body[28] = 8, Malformed::Reserved); // an unknown mark
    refuses(bare, |body| body[28] = 2, Malformed::TooShort); // a trace that is not there
    refuses(bare, |body| body[29] = 3, Malformed::Priority);
    refuses(bare, |body| body[30] = 6, Malformed::TooShort);
    refuses(bare, |body| body[30] = 0, Malformed::Endpoint);
    refuses(bare, |body| body[31] = 1, Malformed::Reserved);
    refuses(bare, |body| body[32] = 1, Malformed::TooShort);
    refuses(bare, |body| body[34] = 1, Malformed::TooShort);
    refuses(open, |body| body[32] = 1, Malformed::MetadataCut);
    refuses(open, |body| body[34] = 1, Malformed::ExtensionCut);
    for byte in [0, b'.', b'A', b'/', 0xff] {
        refuses(bare, |body| body[36] = byte, Malformed::Endpoint);
    }
    does_not_encode(
        Frame::Open(Open {
            endpoint: "a.b",
            ..OPEN_BARE
        }),
        Malformed::Endpoint,
    );
}

#[test]
fn metadata_is_bounded_and_its_keys_are_plain() {
    let mut out = Vec::new();
    let value = vec![b'v'; METADATA_BYTES_MAX - 3 - 1];
    assert_eq!(
        Metadata::encode_pairs([("k", &value)], &mut out)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(out.len(), METADATA_BYTES_MAX);
    let over = vec![b'v'; value.len() + 1];
    let refused = Metadata::encode_pairs([("k", &over)], &mut out);
    assert_eq!(refused, Err(Malformed::MetadataTooLong));
    assert!(out.is_empty());
    assert_eq!(
        Metadata::parse(&vec![0; METADATA_BYTES_MAX + 1]),
        Err(Malformed::MetadataTooLong)
    );

    let many = |count| std::iter::repeat_n(("k", ""), count);
    let encoded = Metadata::encode_pairs(many(METADATA_PAIRS_MAX), &mut out).unwrap();
    assert_eq!(encoded.iter().count(), METADATA_PAIRS_MAX);
    out.extend_from_slice(b"\x01\x00\x00k");
    assert_eq!(Metadata::parse(&out), Err(Malformed::MetadataPairs));
    let refused = Metadata::encode_pairs(many(METADATA_PAIRS_MAX + 1), &mut out);
    assert_eq!(refused, Err(Malformed::MetadataPairs));

    let long = "k".repeat(65);
    for key in ["", "K", "a b", "a\r", "a\n", "a\0", "ü", long.as_str()] {
        let refused = Metadata::encode_pairs([(key, "v")], &mut out);
        assert_eq!(refused, Err(Malformed::MetadataKey), "{key:?}");
    }
    let all = "abcxyz019_-.".to_owned() + &"k".repeat(52);
    let metadata = Metadata::encode_pairs([(all.as_str(), "\0\r\n\u{ff}")], &mut out).unwrap();
    assert_eq!(
        metadata.first(all.as_bytes()),
        Some("\0\r\n\u{ff}".as_bytes())
    );
    assert_eq!(metadata.first(b"other"), None);
}

#[test]
fn extensions_are_bounded_ordered_and_refused_when_critical() {
    let value = vec![0; EXTENSIONS_BYTES_MAX - 4];
    let len = u16::try_from(value.len()).unwrap().to_le_bytes();
    let mut bytes = [b"\x05\x00".as_slice(), len.as_slice(), &value].concat();
    assert_eq!(
        Extensions::parse(&bytes, &[]).unwrap().find(5),
        Some(value.as_slice())
    );
    bytes.push(0);
    assert_eq!(
        Extensions::parse(&bytes, &[]),
        Err(Malformed::ExtensionsTooLong)
    );

    let numbered = |count: u8| {
        (0..count)
            .flat_map(|key| [key, 0, 0, 0])
            .collect::<Vec<u8>>()
    };
    let most = u8::try_from(EXTENSIONS_MAX).unwrap();
    assert!(Extensions::parse(&numbered(most), &[]).is_ok());
    assert_eq!(
        Extensions::parse(&numbered(most + 1), &[]),
        Err(Malformed::ExtensionsCount)
    );

    for (bytes, reason) in [
        (
            b"\x01\x00\x00\x00\x01\x00\x00\x00".as_slice(),
            Malformed::ExtensionOrder(1),
        ),
        (
            b"\x02\x00\x00\x00\x01\x00\x00\x00",
            Malformed::ExtensionOrder(1),
        ),
        (b"\x01\x80\x00\x00", Malformed::ExtensionCritical(0x8001)),
        (b"\x01\x00\x01\x00", Malformed::ExtensionCut),
        (b"\x01\x00\xff\xff", Malformed::ExtensionCut),
        (b"\x01\x00\x00", Malformed::ExtensionCut),
    ] {
        assert_eq!(Extensions::parse(bytes, &[]), Err(reason), "{bytes:?}");
    }
    assert!(Extensions::parse(b"\x01\x80\x00\x00", &[0x8001]).is_ok());
}

#[test]
fn an_unknown_extension_is_skipped_everywhere_and_a_critical_one_nowhere() {
    let end = Frame::End(End::of(Status::Ok));
    for frame in [
        Frame::Hello(hello()),
        Frame::Welcome(welcome()),
        end,
        Frame::Open(OPEN_BARE),
    ] {
        for (key, is_critical) in [(0x7fff_u16, false), (0x8000, true)] {
            let mut bytes = encode(&frame, on(frame.kind())).unwrap();
            bytes.extend_from_slice(&key.to_le_bytes());
            bytes.extend_from_slice(b"\x02\x00??");
            bytes[6] += 6;
            if frame.kind() == FrameKind::Open {
                bytes[8 + 34] = 6;
            }
            let reason = Frame::split_first(&bytes)
                .map(|_| ())
                .map_err(|error| error.reason);
            let refused = Err(Malformed::ExtensionCritical(key));
            assert_eq!(
                reason,
                if is_critical { refused } else { Ok(()) },
                "{}",
                frame.kind()
            );
        }
    }
}

#[test]
fn end_fields_are_checked() {
    let text = "x".repeat(1_025);
    let of = End::of(Status::Internal);
    assert!(
        encode(
            &Frame::End(End {
                message: &text[..1_024],
                ..of
            }),
            STREAM
        )
        .is_ok()
    );
    does_not_encode(
        Frame::End(End {
            message: &text,
            ..of
        }),
        Malformed::TextTooLong,
    );
    let limit = |len: usize| {
        Frame::End(End {
            limit: Some(&text[..len]),
            ..of
        })
    };
    assert!(encode(&limit(64), STREAM).is_ok());
    does_not_encode(limit(65), Malformed::ExtensionValue(2));
    refuses(
        limit(3),
        |body| body[12] = 0xff,
        Malformed::ExtensionValue(2),
    );
    let low = Extensions::parse(b"\x02\x00\x00\x00", &[]).unwrap();
    does_not_encode(
        Frame::End(End {
            extensions: low,
            ..of
        }),
        Malformed::ExtensionOrder(2),
    );

    let message = Frame::End(End {
        message: "hm",
        ..of
    });
    refuses(message, |body| body[2] = 3, Malformed::TooShort);
    refuses(
        message,
        |body| body[2..4].fill(0xff),
        Malformed::TextTooLong,
    );
    refuses(message, |body| body[4] = 1, Malformed::TooShort);
    refuses(message, |body| body[6] = 1, Malformed::Reserved);
    refuses(message, |body| body[8] = 0xff, Malformed::Utf8);
    let retry = Frame::End(End {
        retry_after: Some(Duration::from_secs(1)),
        ..of
    });
    refuses(retry, |body| body[10] = 7, Malformed::ExtensionCut);
    // Two extensions where one was: a short retry-after, then key 0 with the rest.
    let split = |body: &mut [u8]| body[8..16].copy_from_slice(b"\x01\x00\x00\x00\x07\x00\x04\x00");
    refuses(retry, split, Malformed::ExtensionValue(1));
}

#[test]
fn small_frames_are_checked() {
    for bytes in [0, 0x8000_0000, u32::MAX] {
        does_not_encode(Frame::Credit(Credit { bytes }), Malformed::Credit);
        let set = |body: &mut [u8]| body.copy_from_slice(&bytes.to_le_bytes());
        refuses(Frame::Credit(Credit { bytes: 1 }), set, Malformed::Credit);
    }
    for bytes in [1, 0x7fff_ffff] {
        assert!(encode(&Frame::Credit(Credit { bytes }), StreamId::CONNECTION).is_ok());
    }
    let goaway = Goaway {
        last_stream: STREAM,
        status: Status::Draining,
        message: "bye",
    };
    refuses(
        Frame::Goaway(goaway),
        |body| body[3] = 0x80,
        Malformed::Stream,
    );
    refuses(
        Frame::Goaway(goaway),
        |body| body[6] = 0xff,
        Malformed::Utf8,
    );
    let text = "x".repeat(1_025);
    does_not_encode(
        Frame::Goaway(Goaway {
            message: &text,
            ..goaway
        }),
        Malformed::TooLong,
    );
}

#[test]
fn handshake_fields_are_checked() {
    let hello_frame = Frame::Hello(hello());
    for at in 0..4 {
        refuses(hello_frame, |body| body[at] ^= 0x20, Malformed::Magic);
    }
    refuses(hello_frame, |body| body[4] = 0, Malformed::Version);
    refuses(hello_frame, |body| body[4] = 2, Malformed::Version);
    refuses(hello_frame, |body| body[50] = 1, Malformed::Reserved);
    let welcome_frame = Frame::Welcome(welcome());
    refuses(welcome_frame, |body| body[0] = 0, Malformed::Version);
    refuses(welcome_frame, |body| body[2] = 1, Malformed::Reserved);
    refuses(welcome_frame, |body| body[4] = 0, Malformed::Instance);
    for limits in [
        Limits {
            stream_window: 127,
            ..Limits::default()
        },
        Limits {
            stream_window: 0x8000_0000,
            ..Limits::default()
        },
        Limits {
            connection_window: 127,
            ..Limits::default()
        },
        Limits {
            connection_window: u32::MAX,
            ..Limits::default()
        },
        Limits {
            fragment_bytes_max: 63,
            ..Limits::default()
        },
        Limits {
            fragment_bytes_max: 65_532,
            ..Limits::default()
        },
    ] {
        does_not_encode(Frame::Hello(Hello { limits, ..hello() }), Malformed::Limits);
        does_not_encode(
            Frame::Welcome(Welcome {
                limits,
                ..welcome()
            }),
            Malformed::Limits,
        );
    }
    refuses(hello_frame, |body| body[32..36].fill(0), Malformed::Limits);
    refuses(
        welcome_frame,
        |body| body[44..46].fill(0xff),
        Malformed::Limits,
    );
}

#[test]
fn a_later_version_still_tells_its_range() {
    let mut body = b"RING\x02\x00\x09\x00".to_vec();
    assert_eq!(Hello::versions(&body), Ok((2, 9)));
    body.extend_from_slice(&[0xff; 50]);
    assert_eq!(Hello::versions(&body), Ok((2, 9)));
    assert!(Hello::versions(&body[..7]).is_err());
}
