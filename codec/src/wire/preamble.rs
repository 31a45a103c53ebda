//! Telling a Ringmain peer from anything else by its first bytes (spec 4.1).

use super::FrameKind;
use crate::frame::Hello;

/// What a peer that does not speak Ringmain seems to speak.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LooksLike {
    /// A TLS record.
    Tls,
    /// An HTTP request or response, of any version.
    Http,
    /// Something else.
    Unknown,
}

/// How far the first bytes agree with the protocol.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// All of them do.
    Ringmain,
    /// So far, but there are too few to tell.
    Incomplete,
    /// They do not.
    Foreign(LooksLike),
}

/// Looks at the first bytes that an acceptor received: the fixed bytes of HELLO.
///
/// The answer `Foreign` depends on the first byte and the first wrong one only, so it is the same
/// however the bytes were split.
#[must_use]
pub fn inspect_hello(bytes: &[u8]) -> Preamble {
    // The length in bytes 6 and 7 is the one part that may vary before the versions.
    compare(
        bytes,
        |at, byte| match at {
            0..=3 | 5 => byte == 0,
            4 => byte == FrameKind::Hello.code(),
            6 | 7 => true,
            _ => Hello::MAGIC.get(at - 8) == Some(&byte),
        },
        8 + Hello::MAGIC.len(),
    )
}

/// Looks at the first bytes that a dialer received: the header of WELCOME or GOAWAY.
#[must_use]
pub fn inspect_reply(bytes: &[u8]) -> Preamble {
    compare(
        bytes,
        |at, byte| match at {
            4 => byte == FrameKind::Welcome.code() || byte == FrameKind::Goaway.code(),
            _ => byte == 0,
        },
        6,
    )
}

fn compare(bytes: &[u8], agrees: impl Fn(usize, u8) -> bool, needed: usize) -> Preamble {
    let Some(&first) = bytes.first() else {
        return Preamble::Incomplete;
    };
    let agree = bytes
        .iter()
        .take(needed)
        .enumerate()
        .all(|(at, &byte)| agrees(at, byte));
    if !agree {
        return Preamble::Foreign(guess(first));
    }
    if bytes.len() < needed {
        Preamble::Incomplete
    } else {
        Preamble::Ringmain
    }
}

/// By the first byte alone: a Ringmain connection starts with a zero at either end.
const fn guess(first: u8) -> LooksLike {
    match first {
        // Record types handshake and alert.
        0x16 | 0x15 => LooksLike::Tls,
        // First letters of the methods and of a status line.
        b'C' | b'D' | b'G' | b'H' | b'O' | b'P' | b'T' => LooksLike::Http,
        _ => LooksLike::Unknown,
    }
}
