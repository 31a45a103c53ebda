//! In steady state, a message that is read, passed on and acknowledged allocates nothing.

#![allow(clippy::unwrap_used, reason = "tests state what must hold")]

use std::alloc::System;
use std::time::Instant;

use ringmain_codec::{
    Config, Connection, Event, InstanceId, Metadata, OpenParams, OutBuf, Priority, RequestId,
    StreamHandle, Transmit, TrySend,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const STREAMS: usize = 64;
const TOKEN: [u8; 128] = [7; 128];

struct Plane {
    router: Connection<Vec<u8>>,
    worker: Connection<Vec<u8>>,
    streams: Vec<StreamHandle>,
    to_worker: Vec<u8>,
    to_router: Vec<u8>,
    tokens: u64,
    now: Instant,
}

impl Plane {
    fn new() -> Self {
        let now = Instant::now();
        let instance = InstanceId::new(1).unwrap();
        let mut plane = Self {
            router: Connection::new(Config::dialer(Some(instance)), now),
            worker: Connection::new(Config::acceptor(instance), now),
            streams: Vec::new(),
            to_worker: Vec::with_capacity(64 * 1024),
            to_router: Vec::with_capacity(64 * 1024),
            tokens: 0,
            now,
        };
        for _ in 0..3 {
            plane.exchange();
        }
        let open = OpenParams {
            request_id: RequestId([0; 16]),
            deadline: None,
            priority: Priority::Middle,
            trace: None,
            endpoint: "prod.worker.generate",
            metadata: Metadata::EMPTY,
        };
        for _ in 0..STREAMS {
            plane
                .router
                .open(now, &open, Some(vec![1; 100]), true)
                .unwrap();
        }
        plane.exchange();
        assert_eq!(plane.streams.len(), STREAMS);
        plane
    }

    /// Both directions once.
    fn exchange(&mut self) {
        flush(&mut self.router, self.now, &mut self.to_worker);
        let mut chunk = self.to_worker.as_slice();
        while let Some(event) = self.worker.read(self.now, &mut chunk).unwrap() {
            if let Event::Open { stream, credit, .. } = event {
                self.worker.release(stream, credit);
                self.streams.push(stream);
            }
        }
        self.to_worker.clear();
        flush(&mut self.worker, self.now, &mut self.to_router);
        // Pieces end where receive buffers do.
        for mut chunk in self.to_router.chunks(4096) {
            while let Some(event) = self.router.read(self.now, &mut chunk).unwrap() {
                if let Event::Data {
                    stream,
                    credit,
                    message_end,
                    ..
                } = event
                {
                    self.router.release(stream, credit);
                    self.tokens += u64::from(message_end);
                }
            }
        }
        self.to_router.clear();
    }

    /// One engine step: a token for every stream.
    fn step(&mut self) {
        for at in 0..self.streams.len() {
            let stream = self.streams[at];
            let limit = self.to_router.capacity();
            let mut out = OutBuf::new(&mut self.to_router, limit);
            let sent = self.worker.try_send(stream, &TOKEN, &mut out);
            assert_eq!(sent, Ok(TrySend::Written));
        }
        self.exchange();
    }
}

fn flush(connection: &mut Connection<Vec<u8>>, now: Instant, bytes: &mut Vec<u8>) {
    let limit = bytes.capacity();
    let transmit = connection.poll_transmit(now, &mut OutBuf::new(bytes, limit));
    assert_eq!(transmit, Transmit::Drained);
}

/// Allocations of the whole process, in which nothing else runs.
fn allocations(work: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    work();
    let change = region.change();
    change.allocations + change.reallocations
}

#[test]
fn tokens_allocate_nothing() {
    let mut plane = Plane::new();
    // Windows grow, vectors find their size.
    for _ in 0..1000 {
        plane.step();
    }
    let before = plane.tokens;
    let steps = 100_000 / STREAMS as u64 + 1;
    let counted = allocations(|| (0..steps).for_each(|_| plane.step()));
    assert_eq!(
        plane.tokens - before,
        steps * STREAMS as u64,
        "every token arrived"
    );
    assert_eq!(counted, 0, "allocations in {steps} steps");
    let counted = allocations(|| drop(Plane::new()));
    assert!(counted > 0, "the counter counts");
}
