//! The whole decoder over arbitrary bytes: it ends, never reads past the end, and every frame that
//! it takes encodes to the bytes that it was read from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringmain_codec::frame::{Frame, Split};
use ringmain_codec::wire::{inspect_hello, inspect_reply};
use ringmain_codec::{Extensions, Metadata, OutBuf};

fuzz_target!(|bytes: &[u8]| {
    std::hint::black_box((inspect_hello(bytes), inspect_reply(bytes)));
    if let Ok(metadata) = Metadata::parse(bytes) {
        assert_eq!(metadata.iter().count(), metadata.len());
    }
    if let Ok(extensions) = Extensions::parse(bytes, &[]) {
        let read: usize = extensions.iter().map(|(_, value)| 4 + value.len()).sum();
        assert_eq!(read, bytes.len());
    }
    let mut again = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        rest = match Frame::split_first(rest) {
            Err(_) => return,
            Ok(Split::Incomplete { missing }) => {
                assert!(missing > 0);
                return;
            }
            Ok(Split::Unknown { rest, .. }) => rest,
            Ok(Split::Frame {
                header,
                frame,
                rest: after,
            }) => {
                let used = &rest[..rest.len() - after.len()];
                // Extensions of the handshake are skipped, so those two may come back shorter.
                if !matches!(frame, Frame::Hello(_) | Frame::Welcome(_)) {
                    again.clear();
                    let mut out = OutBuf::new(&mut again, usize::MAX);
                    frame
                        .encode(header.stream, &mut out)
                        .expect("what was read can be written");
                    assert_eq!(again, used);
                }
                after
            }
        };
    }
});
