//! Lengths at, below and above each limit, and every rule that a frame can break.

use ringmain_codec::frame::{Data, DataHead, Frame, Open, Split};
use ringmain_codec::wire::{
    CONTROL_FRAME_BYTES_MAX, EncodeError, FRAGMENT_BYTES_MAX, FrameError, FrameKind, Header,
    LooksLike, Malformed, Preamble, inspect_hello, inspect_reply,
};
use ringmain_codec::{OutBuf, StreamId};

use crate::samples::OPEN_BARE;

pub(crate) const STREAM: StreamId = StreamId::DIALER_FIRST;

pub(crate) fn on(kind: FrameKind) -> StreamId {
    match kind {
        FrameKind::Hello
        | FrameKind::Welcome
        | FrameKind::Ping
        | FrameKind::Pong
        | FrameKind::Goaway => StreamId::CONNECTION,
        _ => STREAM,
    }
}

pub(crate) fn encode(frame: &Frame<'_>, stream: StreamId) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::with_capacity(70_000);
    frame.encode(stream, &mut OutBuf::new(&mut bytes, usize::MAX))?;
    assert_eq!(bytes.len(), frame.encoded_len());
    Ok(bytes)
}

/// Encodes, changes bytes of the body, decodes, and expects a refusal.
#[track_caller]
pub(crate) fn refuses(frame: Frame<'_>, change: impl FnOnce(&mut [u8]), reason: Malformed) {
    let mut bytes = encode(&frame, on(frame.kind())).unwrap();
    change(&mut bytes[8..]);
    let refused = FrameError {
        kind: frame.kind(),
        reason,
    };
    assert_eq!(Frame::split_first(&bytes), Err(refused));
}

/// What the encoder refuses is what a decoder would.
#[track_caller]
pub(crate) fn does_not_encode(frame: Frame<'_>, reason: Malformed) {
    let refused = FrameError {
        kind: frame.kind(),
        reason,
    };
    assert_eq!(
        encode(&frame, on(frame.kind())),
        Err(EncodeError::Frame(refused))
    );
}

#[test]
fn the_header_alone_refuses_lengths_out_of_bounds() {
    // kind, shortest body, longest body
    let table = [
        (FrameKind::Hello, 52, 16_376),
        (FrameKind::Welcome, 48, 16_376),
        (FrameKind::Open, 36, 16_376),
        (FrameKind::Accept, 0, 0),
        (FrameKind::Data, 0, 1_000),
        (FrameKind::End, 8, 16_376),
        (FrameKind::Stop, 0, 0),
        (FrameKind::Kill, 0, 0),
        (FrameKind::Credit, 4, 4),
        (FrameKind::Ping, 8, 8),
        (FrameKind::Pong, 8, 8),
        (FrameKind::Goaway, 6, 1_030),
    ];
    assert_eq!(table.len(), FrameKind::KNOWN.len());
    for (kind, min, max) in table {
        for len in [0, min.max(1) - 1, min, max, max + 1, u16::MAX] {
            let expected = match len {
                len if len < min => Err(Malformed::TooShort),
                len if len > max => Err(Malformed::TooLong),
                _ => Ok(()),
            };
            let header = Header::new(on(kind), kind, 0, len);
            let checked = header.check(kind, 1_000).map_err(|error| error.reason);
            assert_eq!(checked, expected, "{kind} of {len} bytes");
        }
    }
    let total = |len| Header::new(STREAM, FrameKind::Data, Header::TOTAL | Header::MORE, len);
    assert_eq!(
        total(1_004).check(FrameKind::Data, 1_000),
        Ok(()),
        "the total is free"
    );
    assert!(total(1_005).check(FrameKind::Data, 1_000).is_err());
}

#[test]
fn the_header_alone_refuses_streams_and_flags() {
    for &kind in FrameKind::KNOWN {
        for stream in [0, 1, 2, 3, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX] {
            let on_connection = on(kind) == StreamId::CONNECTION || kind == FrameKind::Credit;
            let on_stream = on(kind) != StreamId::CONNECTION;
            let allowed = match stream {
                0 => on_connection,
                1 | 3 | 0x7fff_ffff => on_stream,
                _ => false,
            };
            let len = if kind == FrameKind::Data {
                1
            } else {
                shortest(kind)
            };
            let header = Header::new(StreamId::new(stream), kind, 0, len);
            assert_eq!(
                header.check(kind, 64).is_ok(),
                allowed,
                "{kind} on {stream}"
            );
        }
        for flags in 0..=u8::MAX {
            let header = Header::new(on(kind), kind, flags, shortest(kind).max(1));
            let refused = header
                .check(kind, 64)
                .is_err_and(|e| e.reason == Malformed::Flags(flags));
            assert_eq!(
                refused,
                flags & !kind.flags_known() != 0,
                "{kind} with {flags:#x}"
            );
        }
    }
}

fn shortest(kind: FrameKind) -> u16 {
    let lengths = 0..u16::MAX;
    let is_taken = |len: &u16| Header::new(on(kind), kind, 0, *len).check(kind, 64).is_ok();
    lengths.into_iter().find(is_taken).unwrap()
}

#[test]
fn data_flags_that_exclude_each_other_are_refused() {
    let (more, end, total, empty) = (
        Header::MORE,
        Header::END_REQUEST,
        Header::TOTAL,
        Header::EMPTY,
    );
    for flags in 0..16 {
        let allowed = [0, more, end, more | total, end | empty].contains(&flags);
        let len = if flags & empty == 0 { 5 } else { 0 };
        let head = DataHead::from_header(Header::new(STREAM, FrameKind::Data, flags, len));
        assert_eq!(head.is_ok(), allowed, "{flags:#x}");
    }
    for (flags, len, reason) in [
        (more, 0, Malformed::TooShort),
        (more | total, 3, Malformed::TooShort),
        (more | total, 4, Malformed::TooShort),
        (end | empty, 1, Malformed::TrailingBytes),
    ] {
        let head = DataHead::from_header(Header::new(STREAM, FrameKind::Data, flags, len));
        assert_eq!(
            head.map_err(|error| error.reason),
            Err(reason),
            "{flags:#x} {len}"
        );
    }
}

#[test]
fn data_costs_its_payload_and_its_header() {
    for (flags, len, cost) in [
        (0, 0, 8),
        (0, 5, 13),
        (Header::MORE | Header::TOTAL, 9, 13),
        (Header::END_REQUEST | Header::EMPTY, 0, 8),
        (0, u16::MAX, 65_543),
    ] {
        let head = DataHead::from_header(Header::new(STREAM, FrameKind::Data, flags, len));
        assert_eq!(head.unwrap().cost(), cost);
    }
}

#[test]
fn a_total_leaves_something_to_follow() {
    for (total, reason) in [
        (0, Err(Malformed::Total)),
        (3, Err(Malformed::Total)),
        (4, Ok(())),
        (u32::MAX, Ok(())),
    ] {
        let data = Data {
            more: true,
            total: Some(total),
            ..Data::whole(b"abc")
        };
        match reason {
            Ok(()) => assert!(encode(&Frame::Data(data), STREAM).is_ok()),
            Err(reason) => does_not_encode(Frame::Data(data), reason),
        }
    }
    let data = Data {
        more: true,
        total: Some(4),
        ..Data::whole(b"abc")
    };
    refuses(Frame::Data(data), |body| body[0] = 3, Malformed::Total);
}

#[test]
fn the_longest_data_fits_and_one_more_byte_does_not() {
    let payload = vec![7; 65_536];
    let longest = usize::from(FRAGMENT_BYTES_MAX);
    let data = |len: usize| Frame::Data(Data::whole(&payload[..len]));
    assert!(encode(&data(longest), STREAM).is_ok());
    for len in [longest + 1, 65_535, 65_536] {
        does_not_encode(data(len), Malformed::TooLong);
    }
    let first = Data {
        more: true,
        total: Some(70_000),
        ..Data::whole(&payload[..longest])
    };
    assert!(encode(&Frame::Data(first), STREAM).is_ok());
}

#[test]
fn open_is_cut_to_the_control_frame() {
    let payload = vec![7; CONTROL_FRAME_BYTES_MAX];
    let room = OPEN_BARE.request_room();
    let open = |len: usize| Open {
        request_len: Some(u32::try_from(payload.len()).unwrap()),
        request: &payload[..len],
        ..OPEN_BARE
    };
    let bytes = encode(&Frame::Open(open(room)), STREAM).unwrap();
    assert_eq!(bytes.len(), CONTROL_FRAME_BYTES_MAX);
    assert_eq!(bytes[5], Header::MORE);
    does_not_encode(Frame::Open(open(room + 1)), Malformed::TooLong);
}

#[test]
fn open_length_flags_and_bytes_agree() {
    let open = Open {
        request_len: Some(3),
        request: b"abc",
        end_request: true,
        ..OPEN_BARE
    };
    let longer = Open {
        request: b"abcd",
        ..open
    };
    does_not_encode(Frame::Open(longer), Malformed::RequestLen);
    let without_len = Open {
        request_len: None,
        ..open
    };
    does_not_encode(Frame::Open(without_len), Malformed::RequestLen);
    let cut_and_ended = Open {
        request: b"ab",
        ..open
    };
    does_not_encode(Frame::Open(cut_and_ended), Malformed::Flags(3));
    for len in [2, 4, u8::MAX] {
        refuses(
            Frame::Open(open),
            |body| body[24] = len,
            Malformed::RequestLen,
        );
    }
    let cut = Open {
        request_len: Some(4),
        end_request: false,
        ..open
    };
    refuses(Frame::Open(cut), |body| body[24] = 3, Malformed::RequestLen);
}

#[test]
fn a_frame_goes_into_the_buffer_whole_or_not_at_all() {
    let frame = Frame::Data(Data {
        more: true,
        total: Some(9),
        ..Data::whole(b"token")
    });
    for room in 0..=20 {
        for by_capacity in [false, true] {
            let mut bytes = Vec::with_capacity(if by_capacity { 3 + room } else { 64 });
            bytes.extend_from_slice(b"old");
            let capacity = bytes.capacity();
            let mut out = OutBuf::new(&mut bytes, if by_capacity { usize::MAX } else { 3 + room });
            assert_eq!(out.remaining(), room);
            let fits = room >= 17;
            let result = frame.encode(STREAM, &mut out);
            assert_eq!(
                result,
                if fits {
                    Ok(())
                } else {
                    Err(EncodeError::NoRoom)
                }
            );
            assert_eq!(out.written(), if fits { 17 } else { 0 });
            assert_eq!(bytes.capacity(), capacity);
            assert_eq!(&bytes[..3], b"old");
        }
    }
}

#[test]
fn a_limit_below_what_is_there_leaves_no_room() {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(b"old");
    let mut out = OutBuf::new(&mut bytes, 2);
    assert_eq!(out.remaining(), 0);
    assert_eq!(out.put(b""), Ok(()));
    assert_eq!(out.put(b"x"), Err(EncodeError::NoRoom));
}

#[test]
fn foreign_peers_are_recognised_however_their_bytes_are_split() {
    for (bytes, looks_like) in [
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
            LooksLike::Tls,
        ),
        (b"\x15\x03\x01\x00\x02\x02\x28", LooksLike::Tls),
        (b"GET / HTTP/1.1\r\n", LooksLike::Http),
        (b"PRI * HTTP/2.0\r\n\r\nSM", LooksLike::Http),
        (b"HTTP/1.1 400 Bad Request", LooksLike::Http),
        (b"SSH-2.0-OpenSSH_9.6", LooksLike::Unknown),
        (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", LooksLike::Unknown),
        (b"\x00\x00\x00\x00\x05\x00\x00\x00", LooksLike::Unknown),
        (b"\x00\x00\x00\x00\x01\x00\x34\x00RINK", LooksLike::Unknown),
    ] {
        let mut seen = None;
        for len in 0..=bytes.len() {
            match inspect_hello(&bytes[..len]) {
                Preamble::Foreign(looks) => {
                    assert_eq!(*seen.get_or_insert(looks), looks);
                    assert_eq!(looks, looks_like, "{bytes:?} cut to {len}");
                }
                other => assert_eq!((other, seen), (Preamble::Incomplete, None)),
            }
        }
        assert!(seen.is_some(), "{bytes:?}");
    }
    let reply = b"\x00\x00\x00\x00\x0c\x00";
    assert_eq!(inspect_reply(reply), Preamble::Ringmain);
    assert_eq!(
        inspect_reply(b"HTTP/1.1"),
        Preamble::Foreign(LooksLike::Http)
    );
    assert_eq!(
        inspect_reply(b"\0\0\0\0\x01"),
        Preamble::Foreign(LooksLike::Unknown)
    );
}

#[test]
fn an_unknown_kind_is_split_off_with_its_body() {
    for (kind, is_optional) in [
        (0, false),
        (13, false),
        (0x7f, false),
        (0x80, true),
        (0x81, true),
    ] {
        let bytes = [9, 0, 0, 0, kind, 0xff, 3, 0, b'a', b'b', b'c', b'd'];
        let Ok(Split::Unknown { header, body, rest }) = Frame::split_first(&bytes) else {
            panic!("kind {kind}");
        };
        assert_eq!(
            (header.is_optional(), body, rest),
            (is_optional, &b"abc"[..], &b"d"[..])
        );
    }
}
