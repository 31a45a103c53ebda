use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ringmain_codec::{EndpointId, InstanceId, Started, Status};
use ringmain_discovery::{Freshness, Publisher, TransportAddr};
use ringmain_reactor::{Address, IoChoice, ListenOptions};
use ringmain_shard::{ShardSet, ShardSetConfig};
use ringmain_telemetry::Counter;

use crate::client::{Client, Home};
use crate::error::{CallError, ConnectErrorKind, StreamError};
use crate::testing::{ScriptAcceptor, Seen, endpoint, id, instance};
use crate::{Call, ClientConfig, LocalClient, ResponseStream, SinkError};

use super::*;

/// Drives a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(20)),
        }
    }
}

/// Waits for what another thread does.
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::yield_now();
    }
}

/// A client set and one responder set per instance, over loopback.
struct World {
    client: Client,
    set: Arc<ShardSet>,
    servers: Vec<Arc<ShardSet>>,
    seen: Vec<Arc<Seen>>,
    publisher: Publisher,
    endpoint: EndpointId,
    _dir: tempfile::TempDir,
}

fn set(io: IoChoice, shards: usize) -> Arc<ShardSet> {
    let config = ShardSetConfig {
        io,
        cores: vec![None; shards],
        ..ShardSetConfig::default()
    };
    Arc::new(ShardSet::start(&config).unwrap())
}

impl World {
    /// Instances 1, 2, ..; the second one behind a Unix socket.
    fn new(io: IoChoice, shards: usize, instances: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (mut servers, mut seen, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for n in 1..=instances {
            let server = set(io, 1);
            let saw = Arc::new(Seen::default());
            let address = if n == 2 {
                Address::Unix(dir.path().join("two.sock"))
            } else {
                "127.0.0.1:0".parse().unwrap()
            };
            let acceptor = ScriptAcceptor {
                instance: id(n),
                seen: Arc::clone(&saw),
            };
            let bound = server.listen(&address, &ListenOptions::default(), Arc::new(acceptor));
            let bound: TransportAddr = bound.unwrap().to_string().parse().unwrap();
            records.push(instance(n, bound));
            servers.push(server);
            seen.push(saw);
        }
        let mut publisher = Publisher::new(endpoint());
        publisher.publish(records, Freshness::Current);
        let set = set(io, shards);
        let home = Home::Shards(Arc::clone(&set));
        let client = Client::builder(Arc::new(publisher.handle()), home)
            .config(ClientConfig::default())
            .build();
        Self {
            client,
            set,
            servers,
            seen,
            publisher,
            endpoint: endpoint(),
            _dir: dir,
        }
    }

    fn call(&self, request: &str) -> Result<ResponseStream, CallError> {
        self.call_with(Call::new(request.as_bytes().to_vec()))
    }

    fn call_with(&self, call: Call) -> Result<ResponseStream, CallError> {
        block_on(self.client.call(&self.endpoint, call))
    }

    fn count(&self, counter: Counter) -> u64 {
        self.set.telemetry().counter_total(counter)
    }

    /// Runs a task on the first shard to its end.
    fn on_shard<T, F>(&self, task: impl FnOnce(LocalClient) -> F + Send + 'static) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + 'static,
    {
        let (reply, answer) = sync_channel(1);
        let client = self.client.clone();
        let work = move |ctx: &ringmain_shard::ShardCtx| {
            let local = client.local(ctx).unwrap();
            let future = task(local);
            ctx.spawn(async move { reply.send(future.await).unwrap() })
                .detach();
        };
        assert!(self.set.handles()[0].run(Box::new(work)).is_ok());
        answer.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

fn read_all(stream: &mut ResponseStream) -> (Vec<Bytes>, Option<StreamError>) {
    block_on(async {
        let mut messages = Vec::new();
        loop {
            match stream.next().await {
                Some(Ok(message)) => messages.push(message),
                Some(Err(error)) => {
                    assert!(stream.next().await.is_none(), "an error is the last item");
                    return (messages, Some(error));
                }
                None => return (messages, None),
            }
        }
    })
}

/// Every test runs on both drivers.
fn each(test: impl Fn(IoChoice)) {
    for io in [IoChoice::Epoll, IoChoice::Uring] {
        test(io);
    }
}

#[test]
fn a_call_streams_its_response_to_a_good_end() {
    each(|io| {
        let world = World::new(io, 2, 1);
        for _ in 0..4 {
            let mut stream = world.call("tokens 3000 100").unwrap();
            assert_eq!((stream.instance(), stream.started()), (id(1), Started::Yes));
            let (messages, error) = read_all(&mut stream);
            assert_eq!((messages.len(), error), (3000, None));
            assert!(messages.iter().all(|message| **message == [b'x'; 100]));
            let end = stream.end().unwrap();
            assert_eq!(end.trailers().first(b"usage"), Some(&b"1"[..]));
        }
        assert_eq!(world.seen[0].killed(), 0);
        let expect = [
            (Counter::StreamsStarted, 4),
            (Counter::StreamsOk, 4),
            (Counter::TokensReceived, 12_000),
            // Each shard has its own link.
            (Counter::Dials, 2),
        ];
        for (counter, n) in expect {
            assert_eq!(world.count(counter), n, "{counter:?}");
        }
    });
}

#[test]
fn calls_from_many_threads_all_end() {
    each(|io| {
        let world = World::new(io, 2, 2);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let world = &world;
                scope.spawn(move || {
                    for n in 0..50 {
                        let request = format!("echo {thread} {n}");
                        let mut stream = world.call(&request).unwrap();
                        assert_eq!(read_all(&mut stream), (vec![Bytes::from(request)], None));
                    }
                });
            }
        });
        assert_eq!(world.count(Counter::StreamsOk), 400);
        assert!(world.seen.iter().all(|seen| seen.opened() > 0));
    });
}

#[test]
fn an_instance_that_refuses_costs_one_attempt_and_is_set_aside() {
    each(|io| {
        let mut world = World::new(io, 1, 1);
        let real = world.publisher.handle().load().members()[0]
            .instance
            .clone();
        // Nobody listens on this one's port: the listener is closed again.
        let gone = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let records = vec![real, instance(9, TransportAddr::Tcp(gone))];
        world.publisher.publish(records, Freshness::Current);
        for _ in 0..4 {
            assert_eq!(world.call("tokens 1 1").unwrap().instance(), id(1));
        }
        assert_eq!(world.count(Counter::InstancesInhibited), 1);
        let error = world
            .call_with(Call::new("echo").instance(id(9)))
            .unwrap_err();
        let CallError::Connect { kind, instance, .. } = error else {
            panic!("{error}")
        };
        assert_eq!((kind, instance), (ConnectErrorKind::Refused, id(9)));
    });
}

#[test]
fn another_instance_at_the_address_is_found_out() {
    each(|io| {
        let mut world = World::new(io, 1, 1);
        let mut record = (*world.publisher.handle().load().members()[0].instance).clone();
        record.id = InstanceId::new(5).unwrap();
        world
            .publisher
            .publish(vec![Arc::new(record)], Freshness::Current);
        let error = world.call("echo").unwrap_err();
        let CallError::Connect { kind, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(kind, ConnectErrorKind::StaleInstance);
        assert_eq!(world.seen[0].opened(), 0);
    });
}

#[test]
fn a_later_address_is_tried_when_the_first_does_not_answer() {
    each(|io| {
        let mut world = World::new(io, 1, 1);
        let mut record = (*world.publisher.handle().load().members()[0].instance).clone();
        record
            .addresses
            .insert(0, "unix:/nonexistent/ringmain.sock".parse().unwrap());
        world
            .publisher
            .publish(vec![Arc::new(record)], Freshness::Current);
        assert_eq!(world.call("tokens 1 1").unwrap().instance(), id(1));
    });
}

#[test]
fn a_host_name_is_looked_up() {
    let mut world = World::new(IoChoice::Epoll, 1, 1);
    let mut record = (*world.publisher.handle().load().members()[0].instance).clone();
    let TransportAddr::Tcp(address) = record.addresses[0] else {
        panic!()
    };
    record.addresses = vec![format!("localhost:{}", address.port()).parse().unwrap()];
    world
        .publisher
        .publish(vec![Arc::new(record)], Freshness::Current);
    assert_eq!(world.call("tokens 1 1").unwrap().instance(), id(1));
}

#[test]
fn the_deadline_holds_at_every_stage() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let call = |request: &'static str| Call::new(request).deadline(Duration::from_millis(50));
        let error = world.call_with(call("hang")).unwrap_err();
        assert_eq!(
            error,
            CallError::DeadlineExceeded {
                started: Started::Unknown,
                instance: Some(id(1))
            }
        );
        let mut stream = world.call_with(call("stay 3")).unwrap();
        let (messages, error) = read_all(&mut stream);
        let error = error.unwrap();
        assert_eq!(messages.len(), 3);
        assert_eq!(
            (error.status, error.started),
            (Status::DeadlineExceeded, Started::Yes)
        );
        eventually("kills", || world.seen[0].killed() == 2);
        assert_eq!(world.count(Counter::StreamsFailed), 2);
        // A listener that nobody accepts from: connected, never greeted.
        let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut world = world;
        let address = TransportAddr::Tcp(mute.local_addr().unwrap());
        world
            .publisher
            .publish(vec![instance(3, address)], Freshness::Current);
        let error = world.call_with(call("echo")).unwrap_err();
        assert_eq!(
            error,
            CallError::DeadlineExceeded {
                started: Started::No,
                instance: Some(id(3))
            }
        );
    });
}

#[test]
fn dropping_and_cancelling_reach_the_responder() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let mut stream = world.call("stay 3").unwrap();
        block_on(stream.next()).unwrap().unwrap();
        drop(stream);
        eventually("a kill", || world.seen[0].killed() == 1);
        // The call, while its handler is awaited.
        let mut call = Box::pin(world.client.call(&world.endpoint, Call::new("hang")));
        let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        eventually("an open", || world.seen[0].opened() == 2);
        drop(call);
        eventually("a kill", || world.seen[0].killed() == 2);
        let mut stream = world.call("stay 2").unwrap();
        stream.stop();
        let (messages, error) = read_all(&mut stream);
        assert_eq!((messages.len(), error), (2, None));
        assert_eq!(stream.end().unwrap().status(), Status::Cancelled);
        let mut stream = world.call("stay 2").unwrap();
        stream.kill();
        assert_eq!(read_all(&mut stream).1.unwrap().status, Status::Killed);
        eventually("a kill", || world.seen[0].killed() == 3);
        eventually("counts", || world.count(Counter::StreamsCancelled) == 4);
    });
}

#[test]
fn rejections_and_draining() {
    each(|io| {
        let world = World::new(io, 1, 2);
        let CallError::Rejected(error) = world.call("reject").unwrap_err() else {
            panic!()
        };
        assert_eq!(
            (error.status, error.started),
            (Status::Overloaded, Started::No)
        );
        assert_eq!(error.retry_after, Some(Duration::from_millis(250)));
        assert_eq!(world.call("drain").unwrap_err().status(), Status::Draining);
        assert_eq!(
            world.seen.iter().map(|seen| seen.opened()).sum::<usize>(),
            3
        );
        let mut stream = world
            .call_with(Call::new("goaway").instance(id(1)))
            .unwrap();
        assert_eq!(block_on(stream.next()).unwrap().unwrap(), "last");
        eventually("the next instance takes over", || {
            (0..4).all(|_| world.call("tokens 1 1").unwrap().instance() == id(2))
        });
        stream.stop();
        assert_eq!(read_all(&mut stream), (vec![], None));
    });
}

#[test]
fn a_lost_connection_ends_two_hundred_streams_once_each() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let mut streams: Vec<_> = (0..200).map(|_| world.call("stay 2").unwrap()).collect();
        world.servers[0].stop(Duration::from_millis(1)).unwrap();
        for stream in &mut streams {
            let (messages, error) = read_all(stream);
            let error = error.unwrap();
            assert_eq!(messages.len(), 2);
            assert_eq!(
                (error.status, error.started),
                (Status::ConnectionLost, Started::Yes)
            );
        }
        assert_eq!(world.count(Counter::StreamsFailed), 200);
        assert!(matches!(world.call("echo"), Err(CallError::Connect { .. })));
    });
}

#[test]
fn the_end_of_the_shards_ends_streams_and_calls() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let mut stream = world.call("stay 1").unwrap();
        let hanging = std::thread::spawn({
            let (client, endpoint) = (world.client.clone(), world.endpoint.clone());
            move || block_on(client.call(&endpoint, Call::new("hang")))
        });
        eventually("an open", || world.seen[0].opened() == 2);
        let World {
            set,
            servers,
            client,
            endpoint,
            ..
        } = world;
        set.stop(Duration::from_millis(1)).unwrap();
        let (_, error) = read_all(&mut stream);
        assert_eq!(error.unwrap().status, Status::ConnectionLost);
        assert!(hanging.join().unwrap().is_err());
        drop(set);
        let late = block_on(client.call(&endpoint, Call::new("echo")));
        assert_eq!(late.unwrap_err(), CallError::Closed);
        drop(servers);
    });
}

#[test]
fn large_messages_and_slow_consumers() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let mut slow = world.call("tokens 3000 1000").unwrap();
        let mut long = world.call("tokens 40 200000").unwrap();
        let (messages, error) = read_all(&mut long);
        assert_eq!((messages.len(), error), (40, None));
        assert!(messages.iter().all(|message| message.len() == 200_000));
        assert_eq!(read_all(&mut slow).0.len(), 3000);
    });
}

#[test]
fn the_longest_message_passes_and_one_byte_more_does_not() {
    const MAX: usize = 64 * 1024 * 1024;
    each(|io| {
        let world = World::new(io, 1, 1);
        let mut stream = world.call(&format!("big {MAX}")).unwrap();
        let (messages, error) = read_all(&mut stream);
        assert_eq!((messages.len(), error), (1, None));
        assert_eq!(messages[0].len(), MAX);
        let error = world.call(&format!("big {}", MAX + 1)).unwrap_err();
        assert_eq!(error.status(), Status::TooLarge);
        let error = world.call_with(Call::new(vec![0; MAX + 1])).unwrap_err();
        let CallError::Rejected(error) = error else {
            panic!("{error}")
        };
        assert_eq!(
            (error.status, error.started),
            (Status::TooLarge, Started::No)
        );
    });
}

#[test]
fn a_request_of_many_messages_waits_for_room() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let call = world
            .client
            .call_streaming(&world.endpoint, Call::new("stay 1"));
        let (mut sink, stream) = block_on(call).unwrap();
        block_on(async {
            for n in 0..3000_u32 {
                sink.send(vec![n as u8; 1000]).await.unwrap();
            }
        });
        sink.finish();
        eventually("all of it", || {
            world.seen[0].messages.lock().unwrap().len() == 3000
        });
        drop(stream);
        // A sink that outlives its response neither waits for ever nor keeps what it is given.
        let call = world
            .client
            .call_streaming(&world.endpoint, Call::new("stay 1"));
        let (mut sink, stream) = block_on(call).unwrap();
        drop(stream);
        let mut ended = || block_on(sink.send(vec![0; 100_000])) == Err(SinkError::Ended);
        let start = Instant::now();
        while !ended() {
            assert!(start.elapsed() < Duration::from_secs(20), "never ended");
        }
    });
}

#[test]
fn a_dropped_client_closes_its_links() {
    each(|io| {
        let world = World::new(io, 2, 1);
        let mut stream = world.call("stay 1").unwrap();
        world.call("tokens 1 1").unwrap();
        let World { client, set, .. } = world;
        drop(client);
        let open = || {
            set.handles()
                .iter()
                .map(|handle| handle.links_open())
                .sum::<usize>()
        };
        eventually("the idle link closes", || open() == 1);
        assert!(block_on(stream.next()).unwrap().is_ok());
        drop(stream);
        eventually("the last link closes", || open() == 0);
    });
}

#[test]
fn tasks_of_a_shard_call_without_a_hand_off() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let to = endpoint();
        let (borrowed, owned, pieces) = world.on_shard(move |client| async move {
            let mut borrowed = 0;
            let mut stream = client
                .call(&to, Call::new("tokens 3000 100"))
                .await
                .unwrap();
            while let Some(len) = stream.next_with(<[u8]>::len).await {
                borrowed += len.unwrap();
            }
            assert_eq!(stream.end().unwrap().status(), Status::Ok);
            let mut owned = 0;
            let mut stream = client
                .call(&to, Call::new("tokens 10 50000"))
                .await
                .unwrap();
            while let Some(message) = stream.next().await {
                owned += message.unwrap().len();
            }
            let mut pieces = 0;
            let mut ends = 0;
            let mut stream = client
                .call_pieces(&to, Call::new("tokens 10 50000"))
                .await
                .unwrap();
            while let Some(piece) = stream.next_piece().await {
                let piece = piece.unwrap();
                pieces += piece.bytes.len();
                ends += usize::from(piece.message_end);
            }
            assert_eq!(ends, 10);
            (borrowed, owned, pieces)
        });
        assert_eq!((borrowed, owned, pieces), (300_000, 500_000, 500_000));
    });
}

#[test]
fn local_calls_end_as_others_do() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let to = endpoint();
        let errors = world.on_shard(move |client| async move {
            let soon = Duration::from_millis(20);
            let hang = client
                .call(&to, Call::new("hang").deadline(soon))
                .await
                .unwrap_err();
            let mut stream = client
                .call(&to, Call::new("stay 1").deadline(soon))
                .await
                .unwrap();
            stream.next().await.unwrap().unwrap();
            let late = stream.next().await.unwrap().unwrap_err();
            assert!(stream.next().await.is_none());
            let stream = client.call(&to, Call::new("stay 1")).await.unwrap();
            drop(stream);
            let rejected = client.call(&to, Call::new("reject")).await.unwrap_err();
            (hang, late, rejected)
        });
        assert_eq!(errors.0.started(), Started::Unknown);
        assert_eq!(errors.1.status, Status::DeadlineExceeded);
        assert_eq!(errors.2.status(), Status::Overloaded);
        eventually("kills", || world.seen[0].killed() == 3);
    });
}

#[test]
fn what_arrived_before_a_loss_can_be_read_on_the_shard() {
    each(|io| {
        let world = World::new(io, 1, 1);
        let to = endpoint();
        let server = Arc::clone(&world.servers[0]);
        let stopping = Mutex::new(None);
        let (count, error) = world.on_shard(move |client| async move {
            let mut stream = client.call(&to, Call::new("stay 5")).await.unwrap();
            stream.next().await.unwrap().unwrap();
            let stop = move || server.stop(Duration::from_millis(1)).unwrap();
            *stopping.lock().unwrap() = Some(std::thread::spawn(stop));
            let mut count = 1;
            loop {
                match stream.next().await.unwrap() {
                    Ok(_) => count += 1,
                    Err(error) => return (count, error),
                }
            }
        });
        assert_eq!((count, error.status), (5, Status::ConnectionLost));
        eventually("the responder's end", || world.seen[0].disconnected() == 1);
    });
}
