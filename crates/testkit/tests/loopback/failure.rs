//! Workers that go away.

use bytes::Bytes;
use ringmain_client::Call;
use ringmain_codec::{InstanceId, Started, Status};
use ringmain_reactor::Address;
use ringmain_telemetry::Counter;
use ringmain_testkit::{ECHO, HANG, HomeKind, Rig, Worker, WorkerConfig, eventually};

use crate::{drain, everywhere};

async fn two_workers(io: ringmain_reactor::IoChoice, home: HomeKind) -> Rig {
    let workers = vec![WorkerConfig::new(io), WorkerConfig::new(io)];
    Rig::with(workers, home, Default::default()).await
}

#[test]
fn a_lost_worker_ends_its_streams_once_and_leaves_the_others() {
    everywhere(|io, home| async move {
        let mut rig = two_workers(io, home).await;
        let mut streams = Vec::new();
        for _ in 0..200 {
            let mut stream = rig
                .client
                .call(&Rig::endpoint(HANG), Call::new(""))
                .await
                .unwrap();
            assert_eq!(stream.next().await, Some(Ok(Bytes::from("first"))));
            streams.push(stream);
        }
        let lost = rig.workers.remove(0);
        let lost_id = lost.server.instance();
        drop(lost);
        let (gone, kept): (Vec<_>, Vec<_>) = streams
            .into_iter()
            .partition(|stream| stream.instance() == lost_id);
        assert_eq!((gone.len(), kept.len()), (100, 100), "round robin");
        for mut stream in gone {
            let error = stream.next().await.unwrap().unwrap_err();
            assert_eq!(error.started, Started::Yes, "{error:?}");
            assert_eq!(stream.next().await, None, "one terminal");
        }
        // New calls go to the worker that is left, though the registry still has both.
        for round in 0..20 {
            let call = Call::new("x");
            let mut stream = rig.client.call(&Rig::endpoint(ECHO), call).await.unwrap();
            assert_ne!(stream.instance(), lost_id, "round {round}");
            assert_eq!(drain(&mut stream).await, (1, 1, Status::Ok));
        }
        for mut stream in kept {
            stream.stop();
            assert_eq!(drain(&mut stream).await.2, Status::Cancelled, "untouched");
        }
    });
}

#[test]
fn a_refused_instance_is_passed_over() {
    everywhere(|io, home| async move {
        let mut rig = Rig::start(io, home).await;
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Ip(nobody.local_addr().unwrap());
        drop(nobody);
        rig.register(InstanceId::new(99).unwrap(), &address).await;
        rig.wait_for(ECHO, 2).await;
        for _ in 0..50 {
            let mut stream = rig
                .client
                .call(&Rig::endpoint(ECHO), Call::new("x"))
                .await
                .unwrap();
            assert_eq!(drain(&mut stream).await.2, Status::Ok);
        }
        let dials = rig.counter(Counter::DialFailures);
        assert!(
            dials < 10,
            "it is set aside, not tried each time: {dials} dials failed"
        );
    });
}

#[test]
fn a_draining_worker_finishes_what_runs_and_takes_nothing_new() {
    everywhere(|io, home| async move {
        let rig = two_workers(io, home).await;
        let mut running = Vec::new();
        for _ in 0..20 {
            running.push(
                rig.client
                    .call(&Rig::endpoint(HANG), Call::new(""))
                    .await
                    .unwrap(),
            );
        }
        let draining = rig.workers[0].server.instance();
        rig.workers[0].server.start_drain();
        for _ in 0..50 {
            let mut stream = rig
                .client
                .call(&Rig::endpoint(ECHO), Call::new("x"))
                .await
                .unwrap();
            assert_ne!(stream.instance(), draining);
            assert_eq!(drain(&mut stream).await.2, Status::Ok);
        }
        assert_eq!(rig.workers[0].server.in_flight(), 10);
        for mut stream in running {
            stream.stop();
            let (messages, _, status) = drain(&mut stream).await;
            assert_eq!(
                (messages, status),
                (2, Status::Cancelled),
                "it ended as it should"
            );
        }
        rig.workers[0].server.drained().await;
    });
}

#[test]
fn an_address_that_changed_hands_is_a_stale_instance() {
    everywhere(|io, home| async move {
        let worker = Worker::start(7, WorkerConfig::new(io));
        let address = worker.address.clone();
        let mut rig = Rig::over(vec![], io, home, Default::default()).await;
        rig.register(InstanceId::new(8).unwrap(), &address).await;
        rig.wait_for(ECHO, 1).await;
        let error = rig
            .client
            .call(&Rig::endpoint(ECHO), Call::new("x"))
            .await
            .unwrap_err();
        assert_eq!(
            (error.status(), error.started()),
            (Status::StaleInstance, Started::No)
        );
        eventually("nothing ran", || {
            worker.counter(Counter::StreamsStarted) == 0
        });
    });
}

#[test]
fn an_endpoint_that_nobody_serves_is_a_fast_typed_error() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let error = rig
            .client
            .call(&Rig::endpoint("no.such.thing"), Call::new(""))
            .await
            .unwrap_err();
        assert!(
            matches!(error, ringmain_client::CallError::NoInstances { .. }),
            "{error:?}"
        );
        assert_eq!(error.started(), Started::No);
    });
}
