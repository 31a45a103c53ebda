use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ringmain_codec::{EndpointId, Started, Status};
use ringmain_discovery::{Freshness, Publisher, TransportAddr};
use ringmain_shard::Link as ShardLink;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::AbortHandle;

use super::*;
use crate::client::{Client, Home};
use crate::error::{ConnectErrorKind, StreamError};
use crate::testing::{Script, Seen, acceptor_config, endpoint, id, instance};
use crate::{Call, ResponseStream, SinkError};

/// What is found at an address.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// An instance that serves by script.
    Serves(u64),
    Refuses,
    /// Connects never.
    Never,
    /// Connects and says nothing.
    Silent,
    /// Serves until it is asked for anything, then does not read for a minute.
    Wedges(u64),
    /// Serves, but says nothing more once it was asked to `hang`.
    Freezes(u64),
}

#[derive(Default)]
struct Pipes {
    places: Mutex<HashMap<TransportAddr, Place>>,
    seen: Mutex<HashMap<u64, Arc<Seen>>>,
    serving: Mutex<Vec<AbortHandle>>,
    dials: AtomicUsize,
}

impl Pipes {
    fn seen(&self, instance: u64) -> Arc<Seen> {
        Arc::clone(self.seen.lock().unwrap().entry(instance).or_default())
    }

    /// Cuts every connection.
    fn cut(&self) {
        for task in self.serving.lock().unwrap().drain(..) {
            task.abort();
        }
    }

    /// Connections that are still served.
    fn serving(&self) -> usize {
        self.serving
            .lock()
            .unwrap()
            .iter()
            .filter(|task| !task.is_finished())
            .count()
    }
}

struct Connector(Arc<Pipes>);

impl Connect for Connector {
    fn connect(&self, address: &TransportAddr) -> Connecting {
        self.0.dials.fetch_add(1, Ordering::SeqCst);
        let place = self.0.places.lock().unwrap().get(address).copied();
        let pipes = Arc::clone(&self.0);
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            let (instance, pause) = match place.unwrap_or(Place::Refuses) {
                Place::Refuses => return Err(std::io::ErrorKind::ConnectionRefused.into()),
                Place::Never => std::future::pending().await,
                Place::Silent => {
                    let task = tokio::spawn(async move {
                        std::future::pending::<()>().await;
                        drop(theirs);
                    });
                    pipes.serving.lock().unwrap().push(task.abort_handle());
                    return Ok(halves(ours));
                }
                Place::Serves(instance) => (instance, Duration::ZERO),
                Place::Freezes(instance) => (instance, Duration::MAX),
                Place::Wedges(instance) => (instance, 60 * SECOND),
            };
            let task = tokio::spawn(serve(theirs, instance, pipes.seen(instance), pause));
            pipes.serving.lock().unwrap().push(task.abort_handle());
            Ok(halves(ours))
        })
    }
}

fn halves(stream: DuplexStream) -> Transport {
    let (reader, writer) = tokio::io::split(stream);
    (Box::new(reader), Box::new(writer))
}

async fn serve(mut io: DuplexStream, instance: u64, seen: Arc<Seen>, pause: Duration) {
    let mut link = ShardLink::new(acceptor_config(id(instance)), now());
    let mut script = Script::new(Arc::clone(&seen));
    let mut buf = vec![0; 64 * 1024];
    loop {
        let len = io.read(&mut buf).await.unwrap();
        if len == 0 {
            return;
        }
        if pause > Duration::ZERO && seen.opened() > 0 {
            if pause < Duration::MAX {
                tokio::time::sleep(pause).await;
            }
            continue;
        }
        let read = script.on_bytes(now(), &mut link, &buf[..len]);
        while let Some((buf, _)) = link.poll_send(now(), true) {
            if io.write_all(&buf).await.is_err() {
                return;
            }
            link.sent(buf);
        }
        if read.is_err() {
            return;
        }
    }
}

struct World {
    publisher: Publisher,
    pipes: Arc<Pipes>,
    client: Client,
    telemetry: Arc<Telemetry>,
    endpoint: EndpointId,
}

fn address(n: u64) -> TransportAddr {
    format!("10.0.0.{n}:1").parse().unwrap()
}

impl World {
    /// Instances 1, 2, .. at their places.
    fn new(places: &[Place]) -> Self {
        Self::with(places, ClientConfig::default())
    }

    fn with(places: &[Place], config: ClientConfig) -> Self {
        let pipes = Arc::new(Pipes::default());
        let mut instances = Vec::new();
        for (n, &place) in (1..).zip(places) {
            pipes.places.lock().unwrap().insert(address(n), place);
            instances.push(instance(n, address(n)));
        }
        let mut publisher = Publisher::new(endpoint());
        publisher.publish(instances, Freshness::Current);
        let telemetry = Telemetry::new(0);
        let home = Home::InlineOver(Arc::new(Connector(Arc::clone(&pipes))));
        let client = Client::builder(Arc::new(publisher.handle()), home)
            .config(config)
            .telemetry(Arc::clone(&telemetry))
            .build();
        Self {
            publisher,
            pipes,
            client,
            telemetry,
            endpoint: endpoint(),
        }
    }

    async fn call(&self, request: &str) -> Result<ResponseStream, CallError> {
        self.call_with(Call::new(request.as_bytes().to_vec())).await
    }

    async fn call_with(&self, call: Call) -> Result<ResponseStream, CallError> {
        self.client.call(&self.endpoint, call).await
    }

    fn count(&self, counter: Counter) -> u64 {
        self.telemetry.counter_total(counter)
    }
}

/// All messages and, if it ended badly, how.
async fn read_all(stream: &mut ResponseStream) -> (Vec<Bytes>, Option<StreamError>) {
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
}

/// Lets every task run until all wait.
async fn settle() {
    tokio::time::sleep(Duration::from_micros(1)).await;
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_call_streams_its_response_to_a_good_end() {
    let world = World::new(&[Place::Serves(1)]);
    let mut stream = world.call("tokens 1000 100").await.unwrap();
    assert_eq!((stream.instance(), stream.started()), (id(1), Started::Yes));
    assert!(stream.end().is_none());
    let (messages, error) = read_all(&mut stream).await;
    assert_eq!((messages.len(), error), (1000, None));
    assert!(messages.iter().all(|message| **message == [b'x'; 100]));
    let end = stream.end().unwrap();
    assert_eq!(end.status(), Status::Ok);
    assert_eq!(end.trailers().first(b"usage"), Some(&b"1"[..]));
    drop(stream);
    settle().await;
    assert_eq!(world.pipes.seen(1).killed(), 0);
    let expect = [
        (Counter::StreamsStarted, 1),
        (Counter::StreamsOk, 1),
        (Counter::TokensReceived, 1000),
        (Counter::Dials, 1),
        (Counter::LinksOpened, 1),
    ];
    for (counter, n) in expect {
        assert_eq!(world.count(counter), n, "{counter:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_share_one_link() {
    let world = World::new(&[Place::Serves(1)]);
    let calls: Vec<_> = (0..100)
        .map(|n| {
            let (client, endpoint) = (world.client.clone(), world.endpoint.clone());
            tokio::spawn(async move {
                let request = format!("echo {n}");
                let mut stream = client
                    .call(&endpoint, Call::new(request.clone()))
                    .await
                    .unwrap();
                let (messages, error) = read_all(&mut stream).await;
                assert_eq!((messages, error), (vec![Bytes::from(request)], None));
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(world.pipes.dials.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_refuses_costs_one_attempt_and_is_set_aside() {
    let world = World::new(&[Place::Refuses, Place::Serves(2)]);
    for _ in 0..4 {
        let stream = world.call("tokens 1 1").await.unwrap();
        assert_eq!(stream.instance(), id(2));
    }
    assert_eq!(world.pipes.dials.load(Ordering::SeqCst), 2);
    assert_eq!(world.count(Counter::InstancesInhibited), 1);
    assert_eq!(world.count(Counter::DialFailures), 1);
    // It comes back: a probe finds out, and no request was risked on it.
    world
        .pipes
        .places
        .lock()
        .unwrap()
        .insert(address(1), Place::Serves(1));
    tokio::time::sleep(SECOND).await;
    world.call("tokens 1 1").await.unwrap();
    settle().await;
    let mut asked = Vec::new();
    for _ in 0..2 {
        asked.push(world.call("tokens 1 1").await.unwrap().instance());
    }
    asked.sort();
    assert_eq!(asked, [id(1), id(2)]);
}

#[tokio::test(start_paused = true)]
async fn if_nobody_can_be_connected_the_last_failure_is_the_answer() {
    let world = World::new(&[Place::Refuses, Place::Refuses]);
    for _ in 0..2 {
        let error = world.call("echo").await.unwrap_err();
        let CallError::Connect { kind, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*kind, ConnectErrorKind::Refused);
        assert!(error.is_retryable());
        assert_eq!(error.started(), Started::No);
    }
    // Though all are set aside, each was asked both times.
    assert_eq!(world.pipes.dials.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn wrong_answers_at_an_address_are_told_apart() {
    let cases = [
        (Place::Serves(9), ConnectErrorKind::StaleInstance),
        (Place::Silent, ConnectErrorKind::TimedOut),
        (Place::Never, ConnectErrorKind::TimedOut),
        (Place::Refuses, ConnectErrorKind::Refused),
    ];
    for (place, expect) in cases {
        let world = World::new(&[place]);
        let start = now();
        let error = world.call("echo").await.unwrap_err();
        let CallError::Connect { kind, instance, .. } = error else {
            panic!("{error}")
        };
        assert_eq!((kind, instance), (expect, id(1)), "{place:?}");
        if expect == ConnectErrorKind::TimedOut {
            let took = now() - start;
            assert!(
                (3 * SECOND..=3 * SECOND + SECOND / 10).contains(&took),
                "{took:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_to_ask_is_a_fast_typed_answer() {
    let world = World::new(&[]);
    let error = world.call("echo").await.unwrap_err();
    assert_eq!(
        error,
        CallError::NoInstances {
            endpoint: endpoint()
        }
    );
    assert_eq!(error.to_string(), "no instance serves prod.worker.generate");
    let world = World::new(&[Place::Serves(1)]);
    let error = world
        .call_with(Call::new("echo").instance(id(2)))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::UnknownInstance { .. }));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_at_every_stage() {
    // Before the dial is done, before the handler has it, and in the middle of the stream.
    let cases = [
        (Place::Never, "echo", Started::No),
        (Place::Serves(1), "hang", Started::Unknown),
        (Place::Serves(1), "stay 3", Started::Yes),
    ];
    for (place, request, started) in cases {
        let world = World::new(&[place]);
        let start = now();
        let call = Call::new(request).deadline(2 * SECOND);
        let (got, messages) = match world.call_with(call).await {
            Err(CallError::DeadlineExceeded { started, .. }) => (started, 0),
            Err(error) => panic!("{error}"),
            Ok(mut stream) => {
                let (messages, error) = read_all(&mut stream).await;
                let error = error.unwrap();
                assert_eq!(error.status, Status::DeadlineExceeded);
                (error.started, messages.len())
            }
        };
        let took = now() - start;
        assert!(
            (2 * SECOND..2 * SECOND + SECOND / 100).contains(&took),
            "{took:?}"
        );
        assert_eq!(got, started, "{request}");
        assert_eq!(messages, if request == "stay 3" { 3 } else { 0 });
        settle().await;
        let killed = usize::from(place == Place::Serves(1));
        assert_eq!(world.pipes.seen(1).killed(), killed, "{request}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_nobody_reads_still_kills() {
    let world = World::new(&[Place::Serves(1)]);
    let stream = world
        .call_with(Call::new("stay 3").deadline(SECOND))
        .await
        .unwrap();
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(world.pipes.seen(1).killed(), 1);
    assert_eq!(world.count(Counter::StreamsFailed), 1);
    drop(stream);
    assert_eq!(world.count(Counter::StreamsCancelled), 0);
}

#[tokio::test(start_paused = true)]
async fn the_remaining_deadline_travels() {
    let world = World::new(&[Place::Serves(1)]);
    let stream = world
        .call_with(Call::new("stay 1").deadline(9 * SECOND))
        .await
        .unwrap();
    let deadlines = world.pipes.seen(1).deadlines.lock().unwrap().clone();
    let [Some(left)] = deadlines[..] else {
        panic!("{deadlines:?}")
    };
    assert!((8 * SECOND..=9 * SECOND).contains(&left), "{left:?}");
    drop(stream);
}

#[tokio::test(start_paused = true)]
async fn dropping_kills_wherever_the_call_is() {
    let world = World::new(&[Place::Serves(1), Place::Never]);
    // The stream.
    let mut stream = world
        .call_with(Call::new("stay 3").instance(id(1)))
        .await
        .unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    settle().await;
    assert_eq!(world.pipes.seen(1).killed(), 1);
    // The call, while its handler is awaited.
    let call = world.call_with(Call::new("hang").instance(id(1)));
    assert!(tokio::time::timeout(SECOND, call).await.is_err());
    settle().await;
    assert_eq!(world.pipes.seen(1).killed(), 2);
    assert_eq!(world.count(Counter::StreamsCancelled), 2);
    // The call, while its dial is under way.
    let call = world.call_with(Call::new("echo").instance(id(2)));
    assert!(tokio::time::timeout(SECOND, call).await.is_err());
    assert_eq!(world.count(Counter::StreamsStarted), 2);
}

#[tokio::test(start_paused = true)]
async fn stop_ends_well_and_kill_does_not() {
    let world = World::new(&[Place::Serves(1)]);
    let mut stream = world.call("stay 2").await.unwrap();
    stream.stop();
    let (messages, error) = read_all(&mut stream).await;
    assert_eq!((messages.len(), error), (2, None));
    assert_eq!(stream.end().unwrap().status(), Status::Cancelled);
    let mut stream = world.call("stay 2").await.unwrap();
    stream.kill();
    let (_, error) = read_all(&mut stream).await;
    assert_eq!(error.unwrap().status, Status::Killed);
    settle().await;
    let seen = world.pipes.seen(1);
    assert_eq!((seen.stopped(), seen.killed()), (1, 1));
    assert_eq!(world.count(Counter::StreamsCancelled), 2);
}

#[tokio::test(start_paused = true)]
async fn a_rejection_goes_to_the_caller_and_draining_to_the_next() {
    let world = World::new(&[Place::Serves(1), Place::Serves(2)]);
    let error = world.call("reject").await.unwrap_err();
    let CallError::Rejected(error) = error else {
        panic!("{error}")
    };
    assert_eq!(
        (error.status, error.started),
        (Status::Overloaded, Started::No)
    );
    assert_eq!(error.limit.as_deref(), Some("requests_max"));
    assert_eq!(error.retry_after, Some(SECOND / 4));
    assert!(error.is_retryable());
    let opened = || world.pipes.seen(1).opened() + world.pipes.seen(2).opened();
    assert_eq!(opened(), 1);
    let error = world.call("drain").await.unwrap_err();
    assert_eq!(error.status(), Status::Draining);
    assert_eq!(opened(), 3, "each was asked once");
    let mut stream = world.call("fail").await.unwrap();
    let (messages, error) = read_all(&mut stream).await;
    let error = error.unwrap();
    assert_eq!((messages.len(), error.status), (1, Status::Application));
    assert!(!error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn goaway_in_mid_stream_lets_it_go_on_and_moves_new_calls() {
    let world = World::new(&[Place::Serves(1), Place::Serves(2)]);
    let mut stream = world
        .call_with(Call::new("goaway").instance(id(1)))
        .await
        .unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), "last");
    settle().await;
    for _ in 0..3 {
        assert_eq!(world.call("tokens 1 1").await.unwrap().instance(), id(2));
    }
    stream.stop();
    let (messages, error) = read_all(&mut stream).await;
    assert_eq!((messages.len(), error), (0, None));
    drop(stream);
    settle().await;
    assert_eq!(world.pipes.serving(), 1, "the drained link has closed");
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_ends_two_hundred_streams_once_each() {
    let world = World::new(&[Place::Serves(1)]);
    let mut streams = Vec::new();
    for _ in 0..200 {
        streams.push(world.call("stay 2").await.unwrap());
    }
    let waiting = tokio::spawn({
        let (client, endpoint) = (world.client.clone(), world.endpoint.clone());
        async move { client.call(&endpoint, Call::new("hang")).await }
    });
    settle().await;
    world.pipes.cut();
    for stream in &mut streams {
        let (messages, error) = read_all(stream).await;
        let error = error.unwrap();
        assert_eq!(messages.len(), 2);
        assert_eq!(
            (error.status, error.started),
            (Status::ConnectionLost, Started::Yes)
        );
        assert_eq!(error.instance, Some(id(1)));
    }
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(
        (error.status(), error.started()),
        (Status::ConnectionLost, Started::Unknown)
    );
    assert!(!error.is_retryable());
    assert_eq!(world.count(Counter::StreamsFailed), 201);
    drop(streams);
    // The instance is set aside, but it is the only one: a new dial carries the next call.
    assert_eq!(world.call("tokens 1 1").await.unwrap().instance(), id(1));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_falls_silent_is_given_up() {
    let world = World::new(&[Place::Freezes(1)]);
    let start = now();
    let error = world.call("hang").await.unwrap_err();
    assert_eq!(
        (error.status(), error.started()),
        (Status::PeerUnresponsive, Started::Unknown)
    );
    assert!(now() - start < 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_holds_no_task() {
    let world = World::new(&[Place::Wedges(1)]);
    let call = |data: Vec<u8>| {
        let (client, endpoint) = (world.client.clone(), world.endpoint.clone());
        tokio::spawn(async move { client.call(&endpoint, Call::new(data)).await })
    };
    let mut calls = vec![call(b"hang".to_vec())];
    settle().await;
    // More than the pipe holds.
    calls.extend((0..8).map(|_| call(vec![b' '; 1024 * 1024])));
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.status(), Status::PeerUnresponsive);
    }
    // Both halves were dropped, so the peer finds the end when it reads at last.
    tokio::time::sleep(600 * SECOND).await;
    assert_eq!(world.pipes.serving(), 0);
}

#[tokio::test(start_paused = true)]
async fn kept_messages_stay_what_they_are() {
    let world = World::new(&[Place::Serves(1)]);
    let mut kept = Vec::new();
    for n in 0..3 {
        let mut stream = world
            .call(&format!("tokens 2000 {}", 50 + n))
            .await
            .unwrap();
        kept.extend(read_all(&mut stream).await.0);
    }
    assert_eq!(kept.len(), 6000);
    assert!(
        kept.iter()
            .all(|message| message.iter().all(|&byte| byte == b'x'))
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_consumer_slows_nobody_else() {
    let world = World::new(&[Place::Serves(1)]);
    let mut slow = world.call("tokens 5000 1000").await.unwrap();
    let mut fast = world.call("tokens 5000 1000").await.unwrap();
    assert_eq!(read_all(&mut fast).await.0.len(), 5000);
    assert_eq!(read_all(&mut slow).await.0.len(), 5000);
}

#[tokio::test(start_paused = true)]
async fn the_longest_message_passes_and_one_byte_more_does_not() {
    const MAX: usize = 64 * 1024 * 1024;
    let world = World::new(&[Place::Serves(1)]);
    let mut stream = world.call(&format!("big {MAX}")).await.unwrap();
    let (messages, error) = read_all(&mut stream).await;
    assert_eq!((messages.len(), error), (1, None));
    assert_eq!(messages[0].len(), MAX);
    let error = world.call(&format!("big {}", MAX + 1)).await.unwrap_err();
    assert_eq!(error.status(), Status::TooLarge);
    // The request's way.
    let mut request = vec![b' '; MAX];
    request[..4].copy_from_slice(b"hang");
    let call = Call::new(request).deadline(600 * SECOND);
    let error = world.call_with(call).await.unwrap_err();
    assert_eq!(error.status(), Status::DeadlineExceeded);
    let error = world
        .call_with(Call::new(vec![0; MAX + 1]))
        .await
        .unwrap_err();
    let CallError::Rejected(error) = error else {
        panic!("{error}")
    };
    assert_eq!(
        (error.status, error.started),
        (Status::TooLarge, Started::No)
    );
    assert_eq!(error.limit.as_deref(), Some("message_bytes_max"));
}

#[tokio::test(start_paused = true)]
async fn a_request_of_many_messages_waits_for_room() {
    let config = ClientConfig {
        queue_bytes_max: 4096,
        ..ClientConfig::default()
    };
    let world = World::with(&[Place::Serves(1)], config);
    // The responder takes the request when its input is complete, so the sink comes first.
    let (mut sink, mut stream) = world
        .client
        .call_streaming(&world.endpoint, Call::new("stay 1"))
        .await
        .unwrap();
    for n in 0..200 {
        sink.send(vec![n; 1000]).await.unwrap();
    }
    assert!(matches!(
        sink.send(vec![0; 64 * 1024 * 1024 + 1]).await,
        Err(SinkError::TooLarge { .. })
    ));
    sink.finish();
    settle().await;
    let messages = world.pipes.seen(1).messages.lock().unwrap().clone();
    assert_eq!(messages.len(), 200);
    assert!(
        (0..200)
            .zip(&messages)
            .all(|(n, message)| *message == vec![n; 1000])
    );
    stream.kill();
    let (mut sink, stream2) = world
        .client
        .call_streaming(&world.endpoint, Call::new("stay 1"))
        .await
        .unwrap();
    drop(stream2);
    assert_eq!(sink.send("late").await, Err(SinkError::Ended));
    drop((sink, stream.next().await));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_client_says_goodbye() {
    let world = World::new(&[Place::Serves(1)]);
    let mut stream = world.call("stay 1").await.unwrap();
    let World {
        client,
        pipes,
        publisher,
        ..
    } = world;
    drop(client);
    settle().await;
    assert_eq!(pipes.serving(), 1, "its stream is still open");
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    settle().await;
    assert_eq!(pipes.serving(), 0);
    assert_eq!(pipes.seen(1).killed(), 1);
    drop(publisher);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_leaves_or_moves_keeps_its_streams() {
    let mut world = World::new(&[Place::Serves(1), Place::Serves(2)]);
    let mut stream = world
        .call_with(Call::new("stay 1").instance(id(1)))
        .await
        .unwrap();
    world
        .publisher
        .publish(vec![instance(2, address(2))], Freshness::Current);
    for _ in 0..2 {
        assert_eq!(world.call("tokens 1 1").await.unwrap().instance(), id(2));
    }
    settle().await;
    assert_eq!(world.pipes.serving(), 2);
    stream.stop();
    assert_eq!(read_all(&mut stream).await.1, None);
    drop(stream);
    settle().await;
    assert_eq!(world.pipes.serving(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_reading_is_waited_for() {
    let mut world = World::new(&[Place::Serves(1)]);
    let mut publisher = Publisher::new(endpoint());
    let home = Home::InlineOver(Arc::new(Connector(Arc::clone(&world.pipes))));
    let client = Client::builder(Arc::new(publisher.handle()), home).build();
    let call = tokio::spawn({
        let endpoint = world.endpoint.clone();
        async move { client.call(&endpoint, Call::new("tokens 1 1")).await }
    });
    settle().await;
    assert!(!call.is_finished());
    publisher.publish(vec![instance(1, address(1))], Freshness::Current);
    assert!(call.await.unwrap().is_ok());
    world.publisher.mark_stale();
    assert!(
        world.call("tokens 1 1").await.is_ok(),
        "stale is better than nothing"
    );
}

#[test]
fn the_end_of_a_runtime_ends_its_links_and_the_next_one_dials_anew() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
    };
    let first = runtime().unwrap();
    let world = first.block_on(async { World::new(&[Place::Serves(1)]) });
    let mut stream = first.block_on(world.call("stay 1")).unwrap();
    drop(first);
    let second = runtime().unwrap();
    let (messages, error) = second.block_on(read_all(&mut stream));
    assert_eq!(error.unwrap().status, Status::ConnectionLost);
    assert!(messages.len() <= 1);
    drop(stream);
    assert!(second.block_on(world.call("tokens 1 1")).is_ok());
}

#[test]
fn outside_a_runtime_a_call_is_refused() {
    let world = World::new(&[Place::Serves(1)]);
    let waker = std::task::Waker::noop();
    let mut call = std::pin::pin!(world.call("echo"));
    let polled = call.as_mut().poll(&mut Context::from_waker(waker));
    assert!(matches!(
        polled,
        Poll::Ready(Err(CallError::Invalid { .. }))
    ));
}
