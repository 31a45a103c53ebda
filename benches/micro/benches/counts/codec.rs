//! The wire: tokens and unary calls between two connections, and parsing alone.

use std::hint::black_box;
use std::time::Instant;

use ringmain_codec::frame::{Data, Frame, Split};
use ringmain_codec::{
    Config, Connection, EndParams, Event, InstanceId, Metadata, OpenParams, OutBuf, Priority,
    RequestId, Status, StreamHandle, StreamId, Transmit, TrySend,
};

use crate::Bench;
use crate::meter::counted;

const TOKEN: [u8; 128] = [7; 128];
const TOKENS: usize = 16 * 1024;
const CALLS: usize = 1024;
const FRAMES: usize = 1024;
/// What a receive buffer of a calling shard holds: pieces end where it does.
const CHUNK_BYTES: usize = 16 * 1024;

pub(crate) const BENCHES: &[Bench] = &[
    Bench {
        name: "codec/token_end_to_end_16",
        operations: TOKENS,
        run: || tokens(16, Part::Both),
    },
    Bench {
        name: "codec/token_end_to_end_64",
        operations: TOKENS,
        run: || tokens(64, Part::Both),
    },
    Bench {
        name: "codec/token_receive_64",
        operations: TOKENS,
        run: || tokens(64, Part::Receive),
    },
    Bench {
        name: "codec/unary_call",
        operations: CALLS,
        run: unary_calls,
    },
    Bench {
        name: "codec/parse_data_frame",
        operations: FRAMES,
        run: parse,
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Both,
    Receive,
}

/// A caller's and a worker's end of one connection, and the bytes between them.
struct Plane {
    caller: Connection<&'static [u8]>,
    worker: Connection<&'static [u8]>,
    to_worker: Vec<u8>,
    to_caller: Vec<u8>,
    /// Open streams as the worker names them.
    streams: Vec<StreamHandle>,
    tokens: usize,
    accepted: usize,
    ended: usize,
    now: Instant,
}

impl Plane {
    fn new() -> Self {
        let now = Instant::now();
        let instance = InstanceId::new(1).unwrap();
        let mut plane = Self {
            caller: Connection::new(Config::dialer(Some(instance)), now),
            worker: Connection::new(Config::acceptor(instance), now),
            to_worker: Vec::with_capacity(64 * 1024),
            to_caller: Vec::with_capacity(64 * 1024),
            streams: Vec::with_capacity(64),
            tokens: 0,
            accepted: 0,
            ended: 0,
            now,
        };
        for _ in 0..3 {
            plane.caller_to_worker();
            plane.worker_to_caller();
        }
        plane
    }

    fn open(&mut self) {
        let params = OpenParams {
            request_id: RequestId([7; 16]),
            deadline: None,
            priority: Priority::Middle,
            trace: None,
            endpoint: "prod.worker.generate",
            metadata: Metadata::EMPTY,
        };
        let opened = self.caller.open(self.now, &params, Some(&TOKEN), true);
        opened.unwrap();
    }

    /// One engine step: a token for every stream.
    fn send_tokens(&mut self) {
        let limit = self.to_caller.capacity();
        for at in 0..self.streams.len() {
            let mut out = OutBuf::new(&mut self.to_caller, limit);
            let sent = self
                .worker
                .try_send(self.streams[at], black_box(&TOKEN), &mut out);
            assert_eq!(sent, Ok(TrySend::Written));
        }
    }

    fn caller_to_worker(&mut self) {
        flush(&mut self.caller, self.now, &mut self.to_worker);
        let mut chunk = self.to_worker.as_slice();
        while let Some(event) = self.worker.read(self.now, &mut chunk).unwrap() {
            if let Event::Open { stream, credit, .. } = event {
                self.worker.release(stream, credit);
                self.streams.push(stream);
            }
        }
        self.to_worker.clear();
    }

    fn worker_to_caller(&mut self) {
        flush(&mut self.worker, self.now, &mut self.to_caller);
        self.receive();
    }

    fn receive(&mut self) {
        for mut chunk in self.to_caller.chunks(CHUNK_BYTES) {
            while let Some(event) = self.caller.read(self.now, &mut chunk).unwrap() {
                match event {
                    Event::Data {
                        stream,
                        piece,
                        credit,
                        message_end,
                        ..
                    } => {
                        black_box(piece);
                        self.caller.release(stream, credit);
                        self.tokens += usize::from(message_end);
                    }
                    Event::Accepted { .. } => self.accepted += 1,
                    Event::End { .. } => self.ended += 1,
                    _ => {}
                }
            }
        }
        self.to_caller.clear();
    }
}

fn flush(connection: &mut Connection<&'static [u8]>, now: Instant, bytes: &mut Vec<u8>) {
    let limit = bytes.capacity();
    let transmit = connection.poll_transmit(now, &mut OutBuf::new(bytes, limit));
    assert_eq!(transmit, Transmit::Drained);
}

/// A token for each of `streams` leaves together; the credit that comes back is counted with them.
fn tokens(streams: usize, part: Part) {
    let mut plane = Plane::new();
    (0..streams).for_each(|_| plane.open());
    plane.caller_to_worker();
    assert_eq!(plane.streams.len(), streams);
    let mut step = |part: Option<Part>| match part {
        Some(Part::Both) => counted(|| {
            plane.send_tokens();
            plane.worker_to_caller();
            plane.caller_to_worker();
        }),
        Some(Part::Receive) => {
            plane.send_tokens();
            flush(&mut plane.worker, plane.now, &mut plane.to_caller);
            counted(|| plane.receive());
            plane.caller_to_worker();
        }
        None => {
            plane.send_tokens();
            plane.worker_to_caller();
            plane.caller_to_worker();
        }
    };
    (0..16).for_each(|_| step(None));
    let steps = TOKENS / streams;
    (0..steps).for_each(|_| step(Some(part)));
    assert_eq!(plane.tokens, (16 + steps) * streams);
}

/// A request with its input complete, ACCEPT, END; sixteen calls on their way together.
fn unary_calls() {
    const TOGETHER: usize = 16;
    let mut plane = Plane::new();
    let mut round = || {
        (0..TOGETHER).for_each(|_| plane.open());
        plane.caller_to_worker();
        for stream in plane.streams.drain(..) {
            plane.worker.accept(stream);
            plane.worker.end(stream, EndParams::new(Status::Ok));
        }
        plane.worker_to_caller();
    };
    (0..16).for_each(|_| round());
    counted(|| (0..CALLS / TOGETHER).for_each(|_| round()));
    let calls = CALLS + 16 * TOGETHER;
    assert_eq!((plane.accepted, plane.ended), (calls, calls));
}

/// DATA frames out of a buffer, without a connection.
fn parse() {
    let mut bytes = Vec::with_capacity(FRAMES * 2 * TOKEN.len());
    let limit = bytes.capacity();
    for _ in 0..FRAMES {
        let token = Frame::Data(Data::whole(&TOKEN));
        let mut out = OutBuf::new(&mut bytes, limit);
        token.encode(StreamId::DIALER_FIRST, &mut out).unwrap();
    }
    let parse_all = |mut bytes: &[u8]| {
        let mut frames = 0;
        while let Split::Frame { frame, rest, .. } = Frame::split_first(bytes).unwrap() {
            black_box(frame);
            frames += 1;
            bytes = rest;
        }
        frames
    };
    assert_eq!(parse_all(&bytes), FRAMES);
    assert_eq!(counted(|| parse_all(black_box(&bytes))), FRAMES);
}
