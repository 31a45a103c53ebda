//! Tokens that pass through a relay allocate nothing, wake no task and cost no syscall of their
//! own.
//!
//! The counts are of the whole process, between two marks in the middle of the traffic: worker,
//! relay, client and consumers together.

#![allow(clippy::unwrap_used, reason = "tests state what must hold")]

mod plane;

use std::alloc::System;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use ringmain_client::{Call, LocalClient};
use ringmain_reactor::IoChoice;
use ringmain_shard::ShardCtx;
use ringmain_telemetry::Counter;
use ringmain_testkit::{COUNT, HomeKind, Rig, drivers};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use plane::{Parts, Plane, ROUND, ROUNDS, TOKEN_BYTES};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The count is of the process, so only one test may run in it at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// One way of using the relay.
#[derive(Clone, Copy, Debug)]
struct Load {
    streams: u64,
    /// Tokens of one stream.
    length: u64,
    /// Ask for each round when the one before was taken, or take what comes.
    in_rounds: bool,
    /// Tokens until windows and queues have found their size.
    warm: u64,
    /// Tokens between the marks.
    counted: u64,
}

/// All tokens on the way fit one out-buffer: nobody ever has to wait.
const KEEPS_UP: Load = Load {
    streams: 8,
    length: 20_000,
    in_rounds: true,
    warm: 40_000,
    counted: 100_000,
};

/// As fast as it goes: whoever is slowest at the moment has the tokens wait.
const FLAT_OUT: Load = Load {
    streams: 64,
    length: 10_000,
    in_rounds: false,
    warm: 100_000,
    counted: 500_000,
};

/// Counts tokens as they are consumed and reads the allocator at the two marks.
#[derive(Default)]
struct Marks {
    consumed: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
}

impl Marks {
    fn token(&self, load: Load) {
        match self.consumed.fetch_add(1, Ordering::Relaxed) {
            at if at == load.warm => self.first.store(allocations(), Ordering::Relaxed),
            at if at == load.warm + load.counted => {
                self.last.store(allocations(), Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

fn allocations() -> u64 {
    let stats = ALLOCATOR.stats();
    (stats.allocations + stats.reallocations) as u64
}

/// Takes one stream in a task of the client's shard, with borrowed payloads.
async fn consume(client: LocalClient, load: Load, marks: Arc<Marks>) {
    let length = load.length;
    let go = Bytes::from_static(b"go");
    let (mut sink, mut stream) = if load.in_rounds {
        let (endpoint, call) = (Rig::endpoint(ROUNDS), Call::new(""));
        let (sink, stream) = client.call_streaming(&endpoint, call).await.unwrap();
        (Some(sink), stream)
    } else {
        let call = Call::new(format!("{length} {TOKEN_BYTES}"));
        let stream = client.call(&Rig::endpoint(COUNT), call).await.unwrap();
        (None, stream)
    };
    for at in 0..length {
        if let Some(sink) = &mut sink
            && at % ROUND as u64 == 0
        {
            sink.send(go.clone()).await.unwrap();
        }
        let len = stream.next_with(<[u8]>::len).await.unwrap().unwrap();
        assert_eq!(len, TOKEN_BYTES);
        marks.token(load);
    }
    drop(sink);
    assert!(stream.next().await.is_none());
}

async fn consume_all(plane: &Plane, load: Load, marks: &Arc<Marks>) {
    let (done, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let (client, marks) = (plane.front.client.clone(), Arc::clone(marks));
    let work = move |ctx: &ShardCtx| {
        for _ in 0..load.streams {
            let (done, marks) = (done.clone(), Arc::clone(&marks));
            let consumed = consume(client.local(ctx).unwrap(), load, marks);
            let task = async move {
                consumed.await;
                done.send(()).unwrap();
            };
            ctx.spawn(task).detach();
        }
    };
    let shards = plane.front.shards.as_ref().unwrap();
    assert!(shards.handles()[0].run(Box::new(work)).is_ok());
    while ended.recv().await.is_some() {}
}

/// Allocations between the marks, and bytes copied by the relay for each byte of all tokens.
#[expect(
    clippy::print_stdout,
    reason = "a figure for whoever runs it with --nocapture"
)]
async fn measure(io: IoChoice, load: Load) -> (u64, f64) {
    let parts = Parts {
        home: HomeKind::Shards,
        ..Parts::new(io)
    };
    let plane = Plane::with(parts).await;
    let marks = Arc::new(Marks::default());
    consume_all(&plane, load, &marks).await;
    let tokens = marks.consumed.load(Ordering::Relaxed);
    assert_eq!(tokens, load.streams * load.length, "every token arrived");
    let allocated = marks.last.load(Ordering::Relaxed) - marks.first.load(Ordering::Relaxed);
    let count = |counter| plane.counter(counter);
    let copies = count(Counter::CopiesBytes) as f64 / (tokens * TOKEN_BYTES as u64) as f64;
    println!(
        "{io:?}: {allocated} allocations in {} tokens, {copies} copies; {tokens} tokens took {} \
         turns, {} receives, {} sends, {} wakes",
        load.counted,
        count(Counter::Turns),
        count(Counter::Receives),
        count(Counter::Sends),
        count(Counter::Wakes),
    );
    (allocated, copies)
}

fn on_each_driver<F: Future>(test: impl Fn(IoChoice) -> F, mut check: impl FnMut(F::Output)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    for io in drivers() {
        check(runtime.block_on(test(io)));
    }
}

#[test]
fn tokens_of_consumers_that_keep_up_are_copied_once_and_allocate_nothing() {
    on_each_driver(
        |io| measure(io, KEEPS_UP),
        |(allocated, copies)| {
            assert!(copies == 1.0, "{copies}");
            // A queue that has never been so full may grow once more.
            assert!(allocated <= KEEPS_UP.counted / 5_000, "{allocated}");
        },
    );
}

#[test]
fn tokens_that_wait_are_copied_twice_and_allocate_by_the_block() {
    on_each_driver(
        |io| measure(io, FLAT_OUT),
        |(allocated, copies)| {
            assert!((1.0..=2.0).contains(&copies), "{copies}");
            assert!(allocated <= FLAT_OUT.counted / 50, "{allocated}");
        },
    );
}
