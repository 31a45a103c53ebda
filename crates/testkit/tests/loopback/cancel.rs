//! STOP, KILL, dropped streams and deadlines reach the handler.

use std::time::Duration;

use bytes::Bytes;
use ringmain_client::Call;
use ringmain_codec::{Started, Status};
use ringmain_server::ServerConfig;
use ringmain_testkit::{ECHO, HANG, Rig, WorkerConfig, eventually};

use crate::{drain, everywhere};

#[test]
fn stop_lets_the_handler_finish_and_report() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let mut stream = rig
            .client
            .call(&Rig::endpoint(HANG), Call::new(""))
            .await
            .unwrap();
        assert_eq!(stream.next().await, Some(Ok(Bytes::from("first"))));
        stream.stop();
        assert_eq!(stream.next().await, Some(Ok(Bytes::from("stopped"))));
        assert_eq!(stream.next().await, None);
        let end = stream.end().unwrap();
        assert_eq!(end.status(), Status::Cancelled);
        let trailers: Vec<_> = end.trailers().iter().collect();
        assert_eq!(trailers, [(&b"usage_tokens"[..], &b"2"[..])]);
    });
}

#[test]
fn kill_and_drop_end_the_handler() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let mut killed = rig
            .client
            .call(&Rig::endpoint(HANG), Call::new(""))
            .await
            .unwrap();
        let dropped = rig
            .client
            .call(&Rig::endpoint(HANG), Call::new(""))
            .await
            .unwrap();
        assert_eq!(rig.in_flight(), 2);
        killed.kill();
        // A stop after a kill weakens nothing.
        killed.stop();
        drop(dropped);
        assert_eq!(drain(&mut killed).await.2, Status::Killed);
        eventually("both handlers are gone", || rig.in_flight() == 0);
        assert_eq!(rig.workers[0].links_by_shard(), [1], "the link is not");
    });
}

#[test]
fn a_deadline_ends_the_stream_at_both_ends() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let call = Call::new("").deadline(Duration::from_millis(150));
        let mut stream = rig.client.call(&Rig::endpoint(HANG), call).await.unwrap();
        assert_eq!(stream.next().await, Some(Ok(Bytes::from("first"))));
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(
            (error.status, error.started),
            (Status::DeadlineExceeded, Started::Yes)
        );
        assert_eq!(stream.next().await, None, "one terminal");
        eventually("the handler is gone", || rig.in_flight() == 0);
    });
}

#[test]
fn a_request_that_waits_is_never_started_once_its_deadline_has_passed() {
    everywhere(|io, home| async move {
        let server = ServerConfig {
            concurrency_max: 1,
            ..ServerConfig::default()
        };
        let worker = WorkerConfig {
            server,
            ..WorkerConfig::new(io)
        };
        let rig = Rig::with(vec![worker], home, Default::default()).await;
        let running = rig
            .client
            .call(&Rig::endpoint(HANG), Call::new(""))
            .await
            .unwrap();
        let call = Call::new("late").deadline(Duration::from_millis(100));
        let error = rig
            .client
            .call(&Rig::endpoint(ECHO), call)
            .await
            .unwrap_err();
        assert_eq!(error.status(), Status::DeadlineExceeded);
        assert_ne!(error.started(), Started::Yes);
        drop(running);
        eventually("nothing is left", || rig.in_flight() == 0);
        let started = ringmain_telemetry::Counter::StreamsStarted;
        assert_eq!(
            rig.workers[0].counter(started),
            1,
            "the late request never ran"
        );
    });
}

#[test]
fn a_full_worker_answers_at_once_and_names_the_limit() {
    everywhere(|io, home| async move {
        let server = ServerConfig {
            concurrency_max: 4,
            queue_max: 2,
            ..ServerConfig::default()
        };
        let worker = WorkerConfig {
            server,
            ..WorkerConfig::new(io)
        };
        let rig = Rig::with(vec![worker], home, Default::default()).await;
        let mut running = Vec::new();
        for _ in 0..4 {
            running.push(
                rig.client
                    .call(&Rig::endpoint(HANG), Call::new(""))
                    .await
                    .unwrap(),
            );
        }
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let client = rig.client.clone();
                tokio::spawn(async move {
                    let mut stream = client
                        .call(&Rig::endpoint(ECHO), Call::new("waited"))
                        .await
                        .unwrap();
                    drain(&mut stream).await
                })
            })
            .collect();
        eventually("two wait", || rig.workers[0].server.waiting() == 2);
        let error = rig
            .client
            .call(&Rig::endpoint(ECHO), Call::new(""))
            .await
            .unwrap_err();
        assert_eq!(
            (error.status(), error.started()),
            (Status::Overloaded, Started::No)
        );
        let ringmain_client::CallError::Rejected(rejected) = error else {
            panic!("{error:?}")
        };
        assert_eq!(rejected.limit.as_deref(), Some("queue_max"));
        assert!(rejected.retry_after.is_some());
        drop(running);
        for call in waiting {
            assert_eq!(
                call.await.unwrap(),
                (1, 6, Status::Ok),
                "those who waited are served"
            );
        }
    });
}
