//! Tokens allocate nothing on shards, and next to nothing inside a runtime.
//!
//! The counts are of the whole process: responder, client and consumer.

#![allow(clippy::unwrap_used, reason = "tests state what must hold")]

#[path = "../src/testing.rs"]
#[expect(dead_code, reason = "shared with the unit tests, which use all of it")]
mod testing;

use std::alloc::System;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use ringmain_client::{Call, Client, Home};
use ringmain_discovery::{Freshness, Publisher, TransportAddr};
use ringmain_reactor::{IoChoice, ListenOptions};
use ringmain_shard::{ShardSet, ShardSetConfig};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use testing::{ScriptAcceptor, Seen, endpoint, id, instance};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TOKEN_BYTES: usize = 128;
const WARM: usize = 50_000;
const TOKENS: usize = 100_000;
/// A queue that has never been so full grows once more; nothing is allocated per token.
const GROWTHS_MAX: usize = TOKENS / 5_000;

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn set(io: IoChoice) -> Arc<ShardSet> {
    let config = ShardSetConfig {
        io,
        cores: vec![None],
        ..ShardSetConfig::default()
    };
    Arc::new(ShardSet::start(&config).unwrap())
}

/// A responder and who publishes it.
fn responder(io: IoChoice) -> (Arc<ShardSet>, Publisher) {
    let server = set(io);
    let acceptor = ScriptAcceptor {
        instance: id(1),
        seen: Arc::new(Seen::default()),
    };
    let bound = server
        .listen(
            &"127.0.0.1:0".parse().unwrap(),
            &ListenOptions::default(),
            Arc::new(acceptor),
        )
        .unwrap();
    let bound: TransportAddr = bound.to_string().parse().unwrap();
    let mut publisher = Publisher::new(endpoint());
    publisher.publish(vec![instance(1, bound)], Freshness::Current);
    (server, publisher)
}

/// Allocations while a consumer takes [`TOKENS`] tokens in the middle of a longer stream.
async fn allocations(client: Client) -> usize {
    let request = format!("tokens {} {TOKEN_BYTES}", 2 * WARM + TOKENS);
    let mut stream = client.call(&endpoint(), Call::new(request)).await.unwrap();
    for _ in 0..WARM {
        stream.next().await.unwrap().unwrap();
    }
    let region = Region::new(ALLOCATOR);
    for _ in 0..TOKENS {
        assert_eq!(stream.next().await.unwrap().unwrap().len(), TOKEN_BYTES);
    }
    let change = region.change();
    change.allocations + change.reallocations
}

#[test]
fn tokens_from_a_shard_to_a_thread_allocate_nothing() {
    for io in [IoChoice::Epoll, IoChoice::Uring] {
        let (server, publisher) = responder(io);
        let shards = set(io);
        let home = Home::Shards(Arc::clone(&shards));
        let client = Client::builder(Arc::new(publisher.handle()), home).build();
        let allocations = block_on(allocations(client));
        println!("shards, {io:?}: {allocations} allocations for {TOKENS} tokens");
        assert!(allocations <= GROWTHS_MAX, "{allocations}");
        drop((server, shards));
    }
}

#[test]
fn tokens_read_on_their_shard_allocate_nothing() {
    for io in [IoChoice::Epoll, IoChoice::Uring] {
        let (server, publisher) = responder(io);
        let shards = set(io);
        let home = Home::Shards(Arc::clone(&shards));
        let client = Client::builder(Arc::new(publisher.handle()), home).build();
        let (reply, answer) = std::sync::mpsc::sync_channel(1);
        let work = move |ctx: &ringmain_shard::ShardCtx| {
            let local = client.local(ctx).unwrap();
            let task = async move {
                let request = format!("tokens {} {TOKEN_BYTES}", 2 * WARM + TOKENS);
                let mut stream = local.call(&endpoint(), Call::new(request)).await.unwrap();
                for _ in 0..WARM {
                    stream.next_with(<[u8]>::len).await.unwrap().unwrap();
                }
                let region = Region::new(ALLOCATOR);
                for _ in 0..TOKENS {
                    stream.next_with(<[u8]>::len).await.unwrap().unwrap();
                }
                let change = region.change();
                reply
                    .send(change.allocations + change.reallocations)
                    .unwrap();
            };
            ctx.spawn(task).detach();
        };
        assert!(shards.handles()[0].run(Box::new(work)).is_ok());
        let allocations = answer.recv().unwrap();
        println!("on the shard, {io:?}: {allocations} allocations for {TOKENS} tokens");
        assert!(allocations <= GROWTHS_MAX, "{allocations}");
        drop((server, shards));
    }
}

#[cfg(feature = "inline")]
#[test]
fn tokens_inside_a_runtime_allocate_next_to_nothing() {
    let runtimes = [
        (
            "one thread",
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        ),
        ("two threads", {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(2).enable_all().build().unwrap()
        }),
    ];
    for (name, runtime) in runtimes {
        let (server, publisher) = responder(IoChoice::Epoll);
        let client = Client::builder(Arc::new(publisher.handle()), Home::Inline).build();
        let allocations = runtime.block_on(allocations(client));
        println!("inline, {name}: {allocations} allocations for {TOKENS} tokens");
        let blocks = TOKENS * TOKEN_BYTES / (64 * 1024);
        assert!(allocations <= blocks, "{allocations} for {blocks} blocks");
        drop(server);
    }
}
