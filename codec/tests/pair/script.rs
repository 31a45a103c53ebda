//! A byte string as a sequence of calls on two connections, with the invariants that hold
//! whatever it says. Used by the property test and by the fuzz target `operations`.

use std::collections::BTreeMap;
use std::time::Duration;

use ringmain_codec::{Connection, EndParams, OutBuf, Status, StreamHandle, TrySend};

use crate::harness::{Pair, Split, params, windows};

/// What a run starts from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) stream_window: u32,
    pub(crate) connection_window: u32,
    pub(crate) growth: u32,
    pub(crate) out_bytes: usize,
    pub(crate) seed: u64,
    /// The transport is lost at the end, instead of everything finishing.
    pub(crate) lost: bool,
}

/// One run.
struct Run<'a> {
    pair: Pair,
    script: std::slice::Iter<'a, u8>,
    /// Messages taken from each side's caller, by stream.
    given: [BTreeMap<u32, Vec<Vec<u8>>>; 2],
    /// Streams the dialer opened, and those it killed.
    opened: Vec<StreamHandle>,
    killed: Vec<u32>,
    /// Streams the acceptor ended, with the queue dropped or not.
    ended: BTreeMap<u32, bool>,
    /// The acceptor takes no new streams.
    draining: bool,
    next_byte: u8,
}

/// Runs a script to its end, then lets everything finish and checks the invariants.
pub(crate) fn run(settings: Settings, script: &[u8]) {
    let (mut dialer, mut acceptor) = windows(settings.stream_window, settings.connection_window);
    for config in [&mut dialer, &mut acceptor] {
        config.window_growth_bytes_max = settings.growth;
        config.limits.fragment_bytes_max = 200;
        config.queue_bytes_max = 2000;
        config.limits.streams_max = 12;
    }
    let mut pair = Pair::connected(dialer, acceptor);
    for side in [&mut pair.dialer, &mut pair.acceptor] {
        side.out_bytes = settings.out_bytes;
        side.split = Split::from_seed(settings.seed);
    }
    let mut run = Run {
        pair,
        script: script.iter(),
        given: [BTreeMap::new(), BTreeMap::new()],
        opened: Vec::new(),
        killed: Vec::new(),
        ended: BTreeMap::new(),
        draining: false,
        next_byte: 0,
    };
    while let Some(operation) = run.take() {
        run.step(operation);
        assert_eq!(
            run.pair.dialer.error, None,
            "calls alone never break the protocol"
        );
        assert_eq!(
            run.pair.acceptor.error, None,
            "calls alone never break the protocol"
        );
    }
    if settings.lost {
        run.check_lost();
    } else {
        run.check();
    }
}

impl Run<'_> {
    fn take(&mut self) -> Option<u8> {
        self.script.next().copied()
    }

    fn number(&mut self, below: usize) -> usize {
        usize::from(self.take().unwrap_or(0)) % below.max(1)
    }

    fn message(&mut self) -> Vec<u8> {
        let len = [0, 1, 5, 20, 64, 150, 192, 200, 201, 700, 2500][self.number(11)];
        self.next_byte = self.next_byte.wrapping_add(1);
        vec![self.next_byte; len]
    }

    fn stream(&mut self) -> Option<StreamHandle> {
        let number = self.number(self.opened.len());
        self.opened.get(number).copied()
    }

    fn peer(&mut self) -> Option<StreamHandle> {
        let id = self.stream()?.id.value();
        self.pair.acceptor.handles.get(&id).copied()
    }

    fn step(&mut self, operation: u8) {
        if operation == u8::MAX {
            self.draining = true;
            return self.pair.acceptor.connection.goaway(Status::Draining, "");
        }
        match operation % 20 {
            0 | 1 => self.open(),
            2 | 3 => self.send(true),
            4 | 5 => self.send(false),
            6 | 7 => self.try_send(true),
            8 => self.try_send(false),
            9 => {
                if let Some(stream) = self.stream() {
                    self.pair.dialer.connection.stop(stream);
                }
            }
            10 => {
                if let Some(stream) = self.stream() {
                    self.pair.dialer.connection.kill(stream);
                    self.killed.push(stream.id.value());
                }
            }
            11 => {
                if let Some(stream) = self.stream() {
                    self.pair.dialer.connection.finish(stream);
                }
            }
            12 => {
                if let Some(stream) = self.peer() {
                    self.pair.acceptor.connection.accept(stream);
                }
            }
            13 => self.end(),
            14 => {
                let releases = self.number(2) == 0;
                self.pair.acceptor.releases = releases;
                self.pair.dialer.releases = releases;
                self.pair.acceptor.release_held();
            }
            15 => self.pair.dialer.release_held(),
            16 => self.fragments(true),
            17 => self.fragments(false),
            _ => {
                self.pair.transmit();
                let steps = self.number(4);
                for _ in 0..steps {
                    self.pair.now += Duration::from_micros(500);
                    self.pair.deliver();
                }
            }
        }
    }

    fn open(&mut self) {
        let request = (self.number(3) > 0).then(|| self.message());
        let end_request = self.number(2) == 0;
        let now = self.pair.now;
        let given = request.clone();
        let Ok(stream) = self
            .pair
            .dialer
            .connection
            .open(now, &params(), request, end_request)
        else {
            return;
        };
        self.opened.push(stream);
        self.given[0]
            .entry(stream.id.value())
            .or_default()
            .extend(given);
    }

    fn send(&mut self, acceptor: bool) {
        let stream = if acceptor { self.peer() } else { self.stream() };
        let Some(stream) = stream else { return };
        let message = self.message();
        let side = if acceptor {
            &mut self.pair.acceptor
        } else {
            &mut self.pair.dialer
        };
        if side.connection.send(stream, message.clone()).is_ok() {
            let given = &mut self.given[usize::from(acceptor)];
            given.entry(stream.id.value()).or_default().push(message);
        }
    }

    fn try_send(&mut self, acceptor: bool) {
        let stream = if acceptor { self.peer() } else { self.stream() };
        let Some(stream) = stream else { return };
        let message = self.message();
        let mut bytes = Vec::with_capacity(1000);
        let mut out = OutBuf::new(&mut bytes, 1000);
        let side = if acceptor {
            &mut self.pair.acceptor
        } else {
            &mut self.pair.dialer
        };
        let sent = side.connection.try_send(stream, &message, &mut out);
        assert_eq!(
            sent == Ok(TrySend::Written),
            out.written() > 0,
            "all or nothing"
        );
        if sent == Ok(TrySend::Written) {
            let given = &mut self.given[usize::from(acceptor)];
            given.entry(stream.id.value()).or_default().push(message);
            self.pair.put_on_wire(acceptor, bytes);
        }
    }

    /// A message in two fragments: the first directly if that goes, the other queued.
    fn fragments(&mut self, acceptor: bool) {
        let stream = if acceptor { self.peer() } else { self.stream() };
        let Some(stream) = stream else { return };
        let message = self.message();
        if message.len() < 2 {
            return;
        }
        let (first, last) = message.split_at(message.len() / 2);
        let len = u32::try_from(message.len()).unwrap();
        let mut bytes = Vec::with_capacity(1000);
        let mut out = OutBuf::new(&mut bytes, 1000);
        let connection = self.connection(acceptor);
        let sent = connection.try_send_fragment(stream, first, len, false, &mut out);
        let queued = sent != Ok(TrySend::Written)
            && connection
                .send_fragment(stream, first.to_vec(), len, false)
                .is_ok();
        let done = (queued || sent == Ok(TrySend::Written))
            && connection
                .send_fragment(stream, last.to_vec(), len, true)
                .is_ok();
        if !bytes.is_empty() {
            self.pair.put_on_wire(acceptor, bytes);
        }
        if done {
            let given = &mut self.given[usize::from(acceptor)];
            given.entry(stream.id.value()).or_default().push(message);
        }
    }

    fn connection(&mut self, acceptor: bool) -> &mut Connection<Vec<u8>> {
        let side = if acceptor {
            &mut self.pair.acceptor
        } else {
            &mut self.pair.dialer
        };
        &mut side.connection
    }

    fn end(&mut self) {
        let discard_queued = self.number(2) == 0;
        let Some(stream) = self.peer() else { return };
        let end = EndParams {
            discard_queued,
            ..EndParams::new(Status::Ok)
        };
        self.pair.acceptor.connection.end(stream, end);
        self.ended
            .entry(stream.id.value())
            .or_insert(discard_queued);
    }

    fn check(mut self) {
        self.pair.finish_and_audit();
        let Pair {
            dialer, acceptor, ..
        } = &self.pair;
        for stream in &self.opened {
            let id = stream.id.value();
            let was_killed = self.killed.contains(&id);
            let terminals = dialer.terminals.get(&id).copied().unwrap_or(0);
            if was_killed {
                assert!(terminals <= 1, "stream {id}");
            } else {
                assert_eq!(terminals, 1, "stream {id} has one terminal");
            }
            assert!(
                !acceptor.terminals.contains_key(&id),
                "the acceptor ends it itself"
            );
            let got = dialer.messages.get(&id).map_or(&[][..], Vec::as_slice);
            let given = self.given[1].get(&id).map_or(&[][..], Vec::as_slice);
            let is_refused = self.draining && !acceptor.handles.contains_key(&id);
            let all = !was_killed && !is_refused && self.ended.get(&id) != Some(&true);
            assert!(
                given.starts_with(got),
                "stream {id}: in order, nothing made up"
            );
            assert!(!all || given == got, "stream {id}: everything arrives");
            let got = acceptor.messages.get(&id).map_or(&[][..], Vec::as_slice);
            let given = self.given[0].get(&id).map_or(&[][..], Vec::as_slice);
            assert!(
                given.starts_with(got),
                "stream {id}: in order, nothing made up"
            );
        }
        assert_eq!(dialer.connection.streams_open(), 0);
        assert_eq!(acceptor.connection.streams_open(), 0);
    }

    /// The transport is gone in the middle: each side still hears of each of its streams once.
    fn check_lost(mut self) {
        self.pair.dialer.fail();
        self.pair.acceptor.fail();
        let Pair {
            dialer, acceptor, ..
        } = &self.pair;
        for stream in &self.opened {
            let id = stream.id.value();
            let terminals = dialer.terminals.get(&id).copied().unwrap_or(0);
            let was_killed = self.killed.contains(&id);
            assert!(
                terminals == 1 || (was_killed && terminals == 0),
                "stream {id}: {terminals}"
            );
        }
        for id in acceptor.handles.keys() {
            let terminals = acceptor.terminals.get(id).copied().unwrap_or(0);
            assert_eq!(
                terminals,
                u32::from(!self.ended.contains_key(id)),
                "stream {id}"
            );
        }
        for side in [dialer, acceptor] {
            assert_eq!(side.connection.streams_open(), 0);
            assert_eq!(side.connection.poll_timeout(), None);
            assert!(!side.connection.wants_transmit());
        }
    }
}
