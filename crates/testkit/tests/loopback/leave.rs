//! Workers that drain, handlers that are left behind, and limits that show.

use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ringmain_client::{Call, ClientConfig};
use ringmain_codec::{
    EndpointId, Metadata, OpenParams, Priority, RequestId, Started, Status, StreamHandle,
};
use ringmain_server::{
    HandlerError, Input, LocalInput, LocalSink, OnDisconnect, Request, ServerConfig, Sink,
    StepWriter,
};
use ringmain_telemetry::{Counter, Gauge};
use ringmain_testkit::{
    COUNT, ECHO, HANG, RawPeer, Rig, Seen, TAKE, Worker, WorkerConfig, drivers, eventually,
};

use crate::{drain, everywhere};

/// A worker on each driver.
fn on_each_driver(server: ServerConfig, test: impl Fn(Worker)) {
    for io in drivers() {
        let config = WorkerConfig {
            server: server.clone(),
            ..WorkerConfig::new(io)
        };
        test(Worker::start(1, config));
    }
}

/// A server that gives a request credit for all of its bytes at once.
fn generous() -> ServerConfig {
    ServerConfig {
        stream_window_bytes: 4 << 20,
        ..ServerConfig::default()
    }
}

/// Opens a stream and sends only the first of its message: its handler is not called yet.
fn open_half(peer: &mut RawPeer, deadline: Option<Duration>) -> StreamHandle {
    let params = OpenParams {
        request_id: RequestId([7; 16]),
        deadline,
        priority: Priority::default(),
        trace: None,
        endpoint: TAKE,
        metadata: Metadata::default(),
    };
    let request = Some(vec![b'x'; 1 << 20]);
    let stream = peer
        .connection
        .open(Instant::now(), &params, request, true)
        .unwrap();
    let bytes = peer.transmit();
    peer.write(&bytes).unwrap();
    stream
}

#[test]
fn a_link_that_comes_during_a_drain_hears_of_it() {
    on_each_driver(ServerConfig::default(), |worker| {
        worker.server.start_drain();
        let mut peer = RawPeer::ready(&worker.address);
        peer.until(|seen| *seen == Seen::Goaway(Status::Draining));
    });
}

#[test]
fn a_drain_waits_for_a_request_that_is_still_arriving() {
    on_each_driver(generous(), |worker| {
        let mut peer = RawPeer::ready(&worker.address);
        let stream = open_half(&mut peer, None);
        eventually("it arrives", || worker.server.in_flight() == 1);
        assert_eq!(worker.server.running(), 0);
        worker.server.start_drain();
        let mut drained = std::pin::pin!(worker.server.drained());
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(drained.as_mut().poll(&mut cx), Poll::Pending);
        peer.flush();
        let (bytes, status, _) = peer.answer(stream);
        assert_eq!(
            (bytes.as_slice(), status),
            (b"1 1048576".as_slice(), Status::Ok)
        );
        eventually("the drain is over", || {
            drained.as_mut().poll(&mut cx) == Poll::Ready(())
        });
    });
}

#[test]
fn a_request_that_arrives_too_slowly_is_over_at_its_deadline() {
    on_each_driver(ServerConfig::default(), |worker| {
        let mut peer = RawPeer::ready(&worker.address);
        let stream = open_half(&mut peer, Some(Duration::from_millis(50)));
        let end = peer.until(|seen| matches!(seen, Seen::End(..)));
        assert!(
            matches!(end, Seen::End(of, Status::DeadlineExceeded, ..) if of == stream),
            "{end:?}"
        );
        assert_eq!(worker.counter(Counter::StreamsRejectedDeadline), 1);
        assert_eq!(worker.gauge(Gauge::ReassemblyBytes), 0);
        eventually("nothing is left", || worker.server.in_flight() == 0);
    });
}

/// A handler whose runtime goes away never comes back: its caller must not wait for it.
#[test]
fn a_runtime_that_shuts_down_ends_its_streams() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let other = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let endpoint: EndpointId = COUNT.parse().unwrap();
        let server = &rig.workers[0].server;
        server.withdraw(&endpoint).unwrap();
        let handler = |_request: Request<Input>, mut sink: Sink| async move {
            sink.send(b"first").await?;
            std::future::pending::<Result<(), HandlerError>>().await
        };
        server
            .serve(endpoint.clone(), handler, other.handle().clone())
            .unwrap();
        let mut stream = rig.client.call(&endpoint, Call::new("")).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap(), "first");
        other.shutdown_background();
        assert_eq!(drain(&mut stream).await, (0, 0, Status::Internal));
        // Dropped as it is spawned, on the shard itself, which has the link in its hands.
        let mut late = rig.client.call(&endpoint, Call::new("")).await.unwrap();
        assert_eq!(drain(&mut late).await, (0, 0, Status::Internal));
        eventually("slots are free", || rig.in_flight() == 0);
    });
}

/// An engine's end is heard although the connection is gone, so that a handler in its grace can
/// record what was done.
#[test]
fn a_handler_in_its_grace_hears_the_end_of_its_stream() {
    let config = ServerConfig {
        on_disconnect: OnDisconnect::Stop {
            grace: Duration::from_secs(600),
        },
        ..ServerConfig::default()
    };
    on_each_driver(config, |worker| {
        let (sinks, engine) = channel();
        let (recorded, records) = channel();
        let endpoint: EndpointId = HANG.parse().unwrap();
        worker.server.withdraw(&endpoint).unwrap();
        let handler = move |_: &ringmain_shard::ShardCtx| {
            let (sinks, recorded) = (sinks.clone(), recorded.clone());
            move |_request: Request<LocalInput>, sink: LocalSink| {
                let (sinks, recorded) = (sinks.clone(), recorded.clone());
                async move {
                    let step = sink.step_sink();
                    sinks.send(step.clone()).unwrap();
                    step.finished().await;
                    recorded.send(()).unwrap();
                    Ok(())
                }
            }
        };
        let handler = std::sync::Mutex::new(handler);
        worker
            .server
            .serve_local(endpoint, move |ctx| (handler.lock().unwrap())(ctx))
            .unwrap();
        let mut peer = RawPeer::ready(&worker.address);
        peer.open(HANG, b"").unwrap();
        let sink = engine.recv().unwrap();
        assert_eq!(worker.server.running(), 1);
        assert_eq!(worker.gauge(Gauge::HandlersRunning), 1);
        drop(peer);
        eventually("it is told to stop", || sink.is_stopped());
        let mut writer = StepWriter::new();
        writer.push(&sink, b"nobody reads this");
        writer.end(&sink);
        eventually("the shard takes the step", || writer.flush().refused == 0);
        records.recv_timeout(Duration::from_secs(10)).unwrap();
        eventually("its slot is free", || worker.server.running() == 0);
        assert_eq!(worker.gauge(Gauge::HandlersRunning), 0);
    });
}

/// An engine flushes until nothing is refused: that must end when its shard has.
#[test]
fn an_engine_is_not_held_up_by_shards_that_have_stopped() {
    on_each_driver(ServerConfig::default(), |worker| {
        let (sinks, engine) = channel();
        let endpoint: EndpointId = HANG.parse().unwrap();
        worker.server.withdraw(&endpoint).unwrap();
        let sinks = std::sync::Mutex::new(sinks);
        worker
            .server
            .serve_local(endpoint, move |_| {
                let sinks = sinks.lock().unwrap().clone();
                move |_request: Request<LocalInput>, sink: LocalSink| {
                    sinks.send(sink.step_sink()).unwrap();
                    std::future::pending()
                }
            })
            .unwrap();
        let mut peer = RawPeer::ready(&worker.address);
        peer.open(HANG, b"").unwrap();
        let sink = engine.recv().unwrap();
        worker.server.shards().stop(Duration::ZERO).unwrap();
        assert!(sink.is_killed(), "a producer elsewhere is told");
        let mut writer = StepWriter::new();
        writer.end(&sink);
        assert_eq!(writer.flush().refused, 0);
        assert_eq!(worker.server.in_flight(), 0);
    });
}

/// The last owner of a set may be a task of one of its shards.
#[test]
fn a_set_may_be_dropped_on_its_own_shard() {
    on_each_driver(ServerConfig::default(), |worker| {
        let shards = std::sync::Arc::clone(worker.server.shards());
        let handle = shards.handles()[0].clone();
        let Worker { server, .. } = worker;
        let work = Box::new(move |_: &ringmain_shard::ShardCtx| {
            drop(server);
            drop(shards);
        });
        assert!(handle.run(work).is_ok());
        eventually("the shard has ended", || handle.is_stopped());
    });
}

#[test]
fn started_says_that_a_drained_request_did_not() {
    on_each_driver(ServerConfig::default(), |worker| {
        let mut peer = RawPeer::ready(&worker.address);
        worker.server.start_drain();
        peer.until(|seen| *seen == Seen::Goaway(Status::Draining));
        assert!(peer.open(ECHO, b"late").is_err());
        let mut late = RawPeer::connect(&worker.address);
        late.flush();
        assert_eq!(late.look(), Ok(Some(Seen::Ready)));
        if let Ok(stream) = late.open(ECHO, b"late") {
            let end = late.until(|seen| matches!(seen, Seen::End(..) | Seen::Refused(_)));
            let told = matches!(
                end,
                Seen::End(of, Status::Draining, Started::No, _) | Seen::Refused(of) if of == stream
            );
            assert!(told, "{end:?}");
        }
    });
}

/// The one limit of a sink is the one that counts, also past what a link's queue takes by itself.
#[test]
fn a_sink_takes_what_it_says() {
    everywhere(|io, home| async move {
        let config = WorkerConfig {
            server: ServerConfig {
                sink_bytes_max: 4 << 20,
                ..ServerConfig::default()
            },
            ..WorkerConfig::new(io)
        };
        let rig = Rig::with(vec![config], home, ClientConfig::default()).await;
        let endpoint: EndpointId = ECHO.parse().unwrap();
        let server = &rig.workers[0].server;
        server.withdraw(&endpoint).unwrap();
        let handler = |_request: Request<Input>, mut sink: Sink| async move {
            for _ in 0..3000 {
                sink.send(&[b'x'; 1000]).await?;
            }
            Ok(())
        };
        let here = tokio::runtime::Handle::current();
        server.serve(endpoint.clone(), handler, here).unwrap();
        let mut stream = rig.client.call(&endpoint, Call::new("")).await.unwrap();
        // Nobody reads, and nobody is made to wait.
        eventually("the handler is done", || rig.in_flight() == 0);
        assert_eq!(drain(&mut stream).await, (3000, 3_000_000, Status::Ok));
    });
}
