//! A million tokens through real sockets allocate nothing on shards, and inside a runtime at most
//! once in 64 KiB.
//!
//! The counts are of the whole process, between two marks in the middle of the traffic: server
//! shard, engine thread, client's home and consumers together.

#![allow(clippy::unwrap_used, reason = "tests state what must hold")]

use std::alloc::System;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ringmain_client::{Call, ClientConfig, LocalClient};
use ringmain_codec::EndpointId;
use ringmain_discovery::{Instance, Registration, Registry, TransportAddr};
use ringmain_reactor::{Address, IoChoice};
use ringmain_server::{LocalInput, LocalSink, Push, Request, StepSink, StepWriter};
use ringmain_shard::ShardCtx;
use ringmain_testkit::{COUNT, HomeKind, Rig, WorkerConfig, drivers};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const STREAMS: u64 = 32;
const TOKEN_BYTES: u64 = 96;
/// Tokens of one stream.
const LENGTH: u64 = 64_000;
/// Tokens until windows and queues have found their size.
const WARM: u64 = 900_000;
/// Tokens between the marks.
const COUNTED: u64 = 1_000_000;
/// A buffer that meets a burst longer than any before it doubles, and a stream that is ahead of the
/// others may end between the marks.
const ALLOWED: u64 = COUNTED / 1_000;
/// Inside a runtime a token that is still held costs its block: one in 64 KiB.
const ALLOWED_INLINE: u64 = COUNTED * TOKEN_BYTES / (64 * 1024);

/// The endpoint that an engine thread answers.
const STEP: &str = "test.worker.step";

/// The count is of the process, so only one test may run in it at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Counts tokens as they are consumed and reads the allocator at the two marks.
#[derive(Default)]
struct Marks {
    consumed: AtomicU64,
    first: AtomicUsize,
    last: AtomicUsize,
}

impl Marks {
    fn token(&self) {
        match self.consumed.fetch_add(1, Ordering::Relaxed) {
            WARM => self.first.store(allocations(), Ordering::Relaxed),
            at if at == WARM + COUNTED => self.last.store(allocations(), Ordering::Relaxed),
            _ => {}
        }
    }
}

fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

/// Who produces the tokens.
#[derive(Clone, Copy, Debug)]
enum Producer {
    /// An async handler on the server's shard.
    Handler,
    /// A thread with a `StepWriter`.
    Engine,
}

/// Who takes them.
#[derive(Clone, Copy, Debug)]
enum Consumer {
    /// Tasks of a tokio runtime, with the client's links here or there.
    Runtime(HomeKind),
    /// Tasks of the client's own shard.
    Shard,
}

/// Pushes a token a step for every stream, as an engine does, until all have their length.
fn engine(sinks: &Receiver<StepSink>) {
    let mut running: Vec<_> = sinks
        .iter()
        .take(STREAMS as usize)
        .map(|sink| (sink, 0))
        .collect();
    let mut writer = StepWriter::new();
    let token = [b'x'; TOKEN_BYTES as usize];
    while !running.is_empty() {
        let mut pushed = false;
        running.retain_mut(|(sink, done)| {
            match writer.push(sink, &token) {
                Push::Queued => {
                    *done += 1;
                    pushed = true;
                }
                Push::Full => {}
                other => panic!("{other:?}"),
            }
            let more = *done < LENGTH;
            if !more {
                writer.end(sink);
            }
            more
        });
        writer.flush();
        if !pushed {
            std::thread::yield_now();
        }
    }
    while writer.flush().refused > 0 {
        std::thread::yield_now();
    }
}

/// Serves [`STEP`] by an engine thread.
async fn serve_steps(rig: &mut Rig) -> (JoinHandle<()>, Registration) {
    let (sinks, incoming): (Sender<StepSink>, _) = channel();
    let engine = std::thread::spawn(move || engine(&incoming));
    let worker = &rig.workers[0];
    let served = worker
        .server
        .serve_local(Rig::endpoint(STEP), move |_: &ShardCtx| {
            let sinks = sinks.clone();
            move |_request: Request<LocalInput>, sink: LocalSink| {
                let step = sink.step_sink();
                sinks.send(step.clone()).unwrap();
                async move {
                    step.finished().await;
                    drop(sink);
                    Ok(())
                }
            }
        });
    served.unwrap();
    let Address::Ip(address) = worker.address else {
        panic!("TCP")
    };
    let addresses = vec![TransportAddr::Tcp(address)];
    let record = Instance::new(worker.server.instance(), Rig::endpoint(STEP), addresses);
    let registration = rig.discovery.register(record).await.unwrap();
    rig.wait_for(STEP, 1).await;
    (engine, registration)
}

/// Takes all streams in tasks of this runtime.
async fn take_here(rig: &Rig, endpoint: &EndpointId, call: &Call, marks: &Arc<Marks>) {
    let mut tasks = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = rig.client.call(endpoint, call.clone()).await.unwrap();
        let marks = Arc::clone(marks);
        tasks.push(tokio::spawn(async move {
            while let Some(token) = stream.next().await {
                assert_eq!(token.unwrap().len() as u64, TOKEN_BYTES);
                marks.token();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// Takes all streams in tasks of the client's shard, with borrowed payloads.
async fn take_there(rig: &Rig, endpoint: &EndpointId, call: &Call, marks: &Arc<Marks>) {
    let (done, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let (client, endpoint, call) = (rig.client.clone(), endpoint.clone(), call.clone());
    let marks = Arc::clone(marks);
    let work = move |ctx: &ShardCtx| {
        for _ in 0..STREAMS {
            let local: LocalClient = client.local(ctx).unwrap();
            let (endpoint, call, marks) = (endpoint.clone(), call.clone(), Arc::clone(&marks));
            let done = done.clone();
            let task = async move {
                let mut stream = local.call(&endpoint, call).await.unwrap();
                while let Some(len) = stream.next_with(<[u8]>::len).await {
                    assert_eq!(len.unwrap() as u64, TOKEN_BYTES);
                    marks.token();
                }
                done.send(()).unwrap();
            };
            ctx.spawn(task).detach();
        }
    };
    let shards = rig.shards.as_ref().unwrap();
    assert!(shards.handles()[0].run(Box::new(work)).is_ok());
    while ended.recv().await.is_some() {}
}

/// Allocations between the marks.
async fn measure(io: IoChoice, producer: Producer, consumer: Consumer) -> u64 {
    let home = match consumer {
        Consumer::Runtime(home) => home,
        Consumer::Shard => HomeKind::Shards,
    };
    let mut worker = WorkerConfig::new(io);
    // Short queues and windows that do not grow: all buffers reach their full size before the
    // first mark.
    worker.server.sink_bytes_max = 4 << 10;
    let mut client = ClientConfig::default();
    client.stream_window_max = client.stream_window;
    let mut rig = Rig::with(vec![worker], home, client).await;
    let (name, engine) = match producer {
        Producer::Handler => (COUNT, None),
        Producer::Engine => (STEP, Some(serve_steps(&mut rig).await)),
    };
    let (endpoint, marks) = (Rig::endpoint(name), Arc::new(Marks::default()));
    let call = Call::new(format!("{LENGTH} {TOKEN_BYTES}"));
    match consumer {
        Consumer::Runtime(_) => take_here(&rig, &endpoint, &call, &marks).await,
        Consumer::Shard => take_there(&rig, &endpoint, &call, &marks).await,
    }
    if let Some((engine, _registration)) = engine {
        engine.join().unwrap();
    }
    let consumed = marks.consumed.load(Ordering::Relaxed);
    assert_eq!(consumed, STREAMS * LENGTH, "every token arrived");
    let counted = marks.last.load(Ordering::Relaxed) - marks.first.load(Ordering::Relaxed);
    counted as u64
}

/// Measures on each driver; at most `allowed` allocations.
#[expect(
    clippy::print_stdout,
    reason = "a figure for whoever runs it with --nocapture"
)]
fn check(producer: Producer, consumer: Consumer, allowed: u64) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    for io in drivers() {
        let counted = runtime.block_on(measure(io, producer, consumer));
        println!("{producer:?} to {consumer:?} on {io:?}: {counted} allocations");
        assert!(
            counted <= allowed,
            "{producer:?} to {consumer:?} on {io:?}: {counted}"
        );
    }
}

#[test]
fn a_handler_to_tasks_on_a_shard() {
    check(Producer::Handler, Consumer::Shard, ALLOWED);
}

#[test]
fn a_handler_to_a_runtime_by_a_shard() {
    let consumer = Consumer::Runtime(HomeKind::Shards);
    check(Producer::Handler, consumer, ALLOWED);
}

#[test]
fn a_handler_to_a_runtime_inline() {
    let consumer = Consumer::Runtime(HomeKind::Inline);
    check(Producer::Handler, consumer, ALLOWED_INLINE);
}

#[test]
fn an_engine_to_tasks_on_a_shard() {
    check(Producer::Engine, Consumer::Shard, ALLOWED);
}

#[test]
fn an_engine_to_a_runtime_by_a_shard() {
    let consumer = Consumer::Runtime(HomeKind::Shards);
    check(Producer::Engine, consumer, ALLOWED);
}

#[test]
fn an_engine_to_a_runtime_inline() {
    let consumer = Consumer::Runtime(HomeKind::Inline);
    check(Producer::Engine, consumer, ALLOWED_INLINE);
}

#[test]
fn the_counter_counts() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = allocations();
    drop(std::hint::black_box(Box::new(0_u64)));
    assert!(allocations() > before);
}
