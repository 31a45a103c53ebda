//! One checked-in file per frame shape: both directions must agree with it byte for byte.

use ringmain_codec::frame::{Frame, Split};
use ringmain_codec::wire::{Header, OutBuf, Preamble, inspect_hello, inspect_reply};

use crate::samples::{self, Sample, each_sample};

/// Set to rewrite the files from the code; review the difference before it is kept.
const BLESS: &str = "RINGMAIN_BLESS";

fn encode(sample: &Sample<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sample.frame.encoded_len());
    let mut out = OutBuf::new(&mut bytes, usize::MAX);
    sample.frame.encode(sample.stream, &mut out).unwrap();
    bytes
}

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(samples::path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_frame_encodes_to_its_file() {
    each_sample(|sample| {
        let bytes = encode(&sample);
        if std::env::var_os(BLESS).is_some() {
            std::fs::write(samples::path(sample.name), &bytes).unwrap();
        }
        assert_eq!(bytes, golden(sample.name), "{}", sample.name);
    });
}

#[test]
fn every_file_decodes_to_its_frame() {
    each_sample(|sample| {
        let mut bytes = golden(sample.name);
        let len = bytes.len();
        bytes.extend_from_slice(b"next");
        let Ok(Split::Frame {
            header,
            frame,
            rest,
        }) = Frame::split_first(&bytes)
        else {
            panic!("{}: {:?}", sample.name, Frame::split_first(&bytes));
        };
        assert_eq!(
            (header.stream, frame),
            (sample.stream, sample.frame),
            "{}",
            sample.name
        );
        assert_eq!(rest, b"next", "{}", sample.name);
        assert_eq!(frame.encoded_len(), len, "{}", sample.name);
    });
}

#[test]
fn every_kind_has_a_file_and_every_file_a_frame() {
    let mut names = Vec::new();
    let mut kinds = Vec::new();
    each_sample(|sample| {
        names.push(format!("{}.bin", sample.name));
        kinds.push(sample.frame.kind());
    });
    names.sort_unstable();
    for kind in ringmain_codec::wire::FrameKind::KNOWN {
        assert!(kinds.contains(kind), "{kind} has no sample");
    }
    let mut files: Vec<String> = std::fs::read_dir(samples::path("x").parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort_unstable();
    assert_eq!(files, names);
}

#[test]
fn a_cut_stream_of_bytes_is_incomplete_at_every_place() {
    each_sample(|sample| {
        let bytes = golden(sample.name);
        for len in 0..bytes.len() {
            let Ok(Split::Incomplete { missing }) = Frame::split_first(&bytes[..len]) else {
                panic!("{} cut to {len}", sample.name);
            };
            let to_header = Header::split_first(&bytes[..len]).is_none();
            let expected = if to_header {
                8 - len
            } else {
                bytes.len() - len
            };
            assert_eq!(missing, expected, "{} cut to {len}", sample.name);
        }
    });
}

/// The header announces fewer bytes than the fields inside need.
#[test]
fn a_frame_that_lies_about_its_length_is_refused_or_means_something_else() {
    each_sample(|sample| {
        let bytes = golden(sample.name);
        for len in 0..bytes.len() - 8 {
            let mut short = bytes[..8 + len].to_vec();
            short[6..8].copy_from_slice(&u16::try_from(len).unwrap().to_le_bytes());
            if let Ok(split) = Frame::split_first(&short) {
                let Split::Frame {
                    frame, rest: [], ..
                } = split
                else {
                    panic!("{} with length {len}: {split:?}", sample.name);
                };
                assert_ne!(frame, sample.frame, "{} with length {len}", sample.name);
            }
        }
    });
}

/// A single wrong byte is refused, or yields a frame that encodes to just these bytes.
#[test]
fn a_wrong_byte_anywhere_is_refused_or_kept() {
    each_sample(|sample| {
        let bytes = golden(sample.name);
        for at in 0..bytes.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut wrong = bytes.clone();
                wrong[at] ^= change;
                if let Ok(Split::Frame {
                    header,
                    frame,
                    rest,
                }) = Frame::split_first(&wrong)
                {
                    let used = wrong.len() - rest.len();
                    let again = encode(&Sample {
                        name: "",
                        stream: header.stream,
                        frame,
                    });
                    assert_eq!(again, wrong[..used], "{} byte {at}", sample.name);
                }
            }
        }
    });
}

#[test]
fn opening_frames_are_recognised_by_their_first_bytes() {
    for (name, inspect, needed) in [
        ("hello", inspect_hello as fn(&[u8]) -> Preamble, 12),
        ("welcome", inspect_reply, 6),
        ("goaway", inspect_reply, 6),
    ] {
        let bytes = golden(name);
        for len in 0..bytes.len() {
            let expected = if len < needed {
                Preamble::Incomplete
            } else {
                Preamble::Ringmain
            };
            assert_eq!(inspect(&bytes[..len]), expected, "{name} cut to {len}");
        }
    }
}
