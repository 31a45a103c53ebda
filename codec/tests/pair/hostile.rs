//! A byte string as what a hostile peer sends, between calls of an innocent caller: nothing
//! panics, nothing is read past its end, and each stream still ends once. Used by the property
//! test and by the fuzz target `operations`.

use std::collections::BTreeSet;
use std::time::Duration;

use ringmain_codec::{EndParams, SendError, Status, StreamHandle};

use crate::harness::{Pair, Side, Split, params, windows};

/// The innocent caller and what it has done.
struct Caller {
    pair: Pair,
    opened: Vec<StreamHandle>,
    killed: BTreeSet<u32>,
    ended: BTreeSet<u32>,
}

/// Runs a script against both ends of a pair that is past its handshake.
pub(crate) fn run_hostile(seed: u64, mut script: &[u8]) {
    let (dialer, mut acceptor) = windows(1000, 3000);
    acceptor.limits.streams_max = 8;
    let mut pair = Pair::connected(dialer, acceptor);
    pair.dialer.split = Split::from_seed(seed);
    pair.acceptor.split = Split::from_seed(seed);
    let (opened, killed, ended) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut caller = Caller {
        pair,
        opened,
        killed,
        ended,
    };
    while let Some((&operation, rest)) = script.split_first() {
        script = rest;
        let number = usize::from(operation >> 4);
        match operation % 10 {
            // Raw bytes, then frames that are nearly right.
            6 => feed(&mut caller.pair, number, &mut script, false),
            7.. => feed(&mut caller.pair, number, &mut script, true),
            call => caller.call(call, number),
        }
    }
    caller.check();
}

impl Caller {
    fn call(&mut self, call: u8, number: usize) {
        let Pair {
            dialer,
            acceptor,
            now,
            ..
        } = &mut self.pair;
        let peer = acceptor.handles.values().nth(number).copied();
        match (call, peer) {
            (0, _) => {
                let request = Some(vec![1; 40 * number]);
                let open = dialer.connection.open(*now, &params(), request, false);
                self.opened.extend(open);
            }
            (1, _) => {
                if let Some(stream) = self.opened.get(number) {
                    dialer.connection.kill(*stream);
                    self.killed.insert(stream.id.value());
                }
            }
            (2, Some(stream)) => {
                let sent = acceptor.connection.send(stream, vec![2; 50]);
                assert!(!matches!(sent, Err(SendError::TooLarge { .. })));
            }
            // Only an end before any terminal of the machine's own is the caller's.
            (3, Some(stream)) if !acceptor.terminals.contains_key(&stream.id.value()) => {
                acceptor.connection.end(stream, EndParams::new(Status::Ok));
                self.ended.insert(stream.id.value());
            }
            (4, _) => {
                *now += Duration::from_millis(100 * number as u64);
                for side in [dialer, acceptor] {
                    if let Err(error) = side.connection.handle_timeout(*now) {
                        side.error = Some(error);
                    }
                }
            }
            // What the innocent side writes goes nowhere: its peer is somebody else.
            (5, _) => drop((dialer.transmit(*now), acceptor.transmit(*now))),
            _ => {}
        }
    }

    fn check(mut self) {
        for side in [&mut self.pair.dialer, &mut self.pair.acceptor] {
            side.fail();
            assert_eq!(side.connection.streams_open(), 0);
        }
        for stream in &self.opened {
            let id = stream.id.value();
            let terminals = self.pair.dialer.terminals.get(&id).copied().unwrap_or(0);
            let was_killed = self.killed.contains(&id);
            assert!(
                terminals == 1 || (was_killed && terminals == 0),
                "{id}: {terminals}"
            );
        }
        for id in self.pair.acceptor.handles.keys() {
            let terminals = self.pair.acceptor.terminals.get(id).copied().unwrap_or(0);
            assert_eq!(terminals, u32::from(!self.ended.contains(id)), "{id}");
        }
    }
}

/// Gives one side bytes of the script: as they are, or behind a header that makes sense.
fn feed(pair: &mut Pair, number: usize, script: &mut &[u8], framed: bool) {
    let (now, dialer) = (pair.now, number.is_multiple_of(2));
    let side: &mut Side = if dialer {
        &mut pair.dialer
    } else {
        &mut pair.acceptor
    };
    let mut bytes = Vec::new();
    let mut next = || {
        let (first, rest) = script.split_first().unwrap_or((&0, &[]));
        *script = rest;
        *first
    };
    if framed {
        let kind = [1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 10, 11, 12, 0x81][usize::from(next() % 15)];
        let flags = if kind == 5 || kind == 3 {
            next() % 16
        } else {
            0
        };
        let stream = if matches!(kind, 1 | 2 | 10 | 11 | 12) {
            0
        } else {
            next() % 24
        };
        let len = match kind {
            4 | 7 | 8 => 0,
            9 => 4,
            10 | 11 => 8,
            3 => 36 + next() % 30,
            _ => next() % 48,
        };
        bytes.extend_from_slice(&[stream, 0, 0, 0, kind, flags, len, 0]);
        if kind == 3 {
            // An OPEN with no more than an endpoint of five bytes, and a request.
            let request_len = len - 36;
            let (endpoint, request) = (request_len.min(5), request_len.saturating_sub(5));
            bytes.extend_from_slice(&[0; 24]);
            bytes.extend_from_slice(&[request.wrapping_add(next() % 3), 0, 0, 0]);
            bytes.extend_from_slice(&[4, next() % 3, endpoint, 0, 0, 0, 0, 0]);
            bytes.extend_from_slice(&b"a.b.c"[..usize::from(endpoint)]);
            bytes.extend((0..request).map(|_| next()));
        } else {
            bytes.extend((0..len).map(|_| next()));
        }
    } else {
        bytes.extend((0..=number * 2).map(|_| next()));
    }
    side.feed(now, &bytes);
}
