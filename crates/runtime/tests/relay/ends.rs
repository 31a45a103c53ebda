//! Cancels and deadlines go on; terminals come back as they were.

use std::time::Duration;

use bytes::Bytes;
use ringmain_client::{Call, CallError};
use ringmain_codec::{Started, Status};
use ringmain_server::ServerConfig;
use ringmain_testkit::{COUNT, ECHO, HANG, PANIC, RawPeer, Rig, eventually};

use crate::plane::{CONTEXT, Parts, Plane};
use crate::{drain, everywhere};

#[test]
fn stop_reaches_the_handler_and_its_record_comes_back() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        let mut stream = plane
            .front
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
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn kill_drop_and_a_lost_caller_end_the_handler() {
    everywhere(|io| async move {
        let mut plane = Plane::start(io).await;
        let call = |plane: &Plane| {
            let client = plane.front.client.clone();
            async move {
                client
                    .call(&Rig::endpoint(HANG), Call::new(""))
                    .await
                    .unwrap()
            }
        };
        let (killed, dropped) = (call(&plane).await, call(&plane).await);
        assert_eq!((plane.relay.in_flight(), plane.back.in_flight()), (2, 2));
        killed.kill();
        drop(dropped);
        eventually("both handlers are gone", || plane.is_quiet());

        let _lost = call(&plane).await;
        let empty = Rig::over(
            vec![],
            io,
            ringmain_testkit::HomeKind::Inline,
            Default::default(),
        );
        drop((std::mem::replace(&mut plane.front, empty.await), _lost));
        eventually("the lost caller's is gone", || plane.is_quiet());
    });
}

#[test]
fn a_deadline_ends_the_stream_everywhere() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        let call = Call::new("").deadline(Duration::from_millis(150));
        let mut stream = plane
            .front
            .client
            .call(&Rig::endpoint(HANG), call)
            .await
            .unwrap();
        assert_eq!(stream.next().await, Some(Ok(Bytes::from("first"))));
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(
            (error.status, error.started),
            (Status::DeadlineExceeded, Started::Yes)
        );
        assert_eq!(stream.next().await, None, "one terminal");
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn failures_keep_status_text_and_trailers() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        let cases = [
            (CONTEXT, "", Status::Application, "the model said no"),
            (
                COUNT,
                "nonsense",
                Status::InvalidRequest,
                "want: count size",
            ),
            (PANIC, "", Status::HandlerPanicked, "the handler panicked"),
        ];
        for (endpoint, request, status, message) in cases {
            let endpoint = Rig::endpoint(endpoint);
            let mut stream = plane
                .front
                .client
                .call(&endpoint, Call::new(request))
                .await
                .unwrap();
            let error = loop {
                match stream.next().await.unwrap() {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            assert_eq!((error.status, error.started), (status, Started::Yes));
            assert_eq!(error.message, message);
            let trailers = stream.end().unwrap().trailers().iter().count();
            assert_eq!(trailers, usize::from(status == Status::Application));
        }
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn a_full_worker_is_told_apart_from_one_that_started() {
    everywhere(|io| async move {
        let full = ServerConfig {
            concurrency_max: 1,
            queue_max: 1,
            ..ServerConfig::default()
        };
        let plane = Plane::with(Parts {
            workers: vec![full],
            ..Parts::new(io)
        })
        .await;
        let front = &plane.front.client;
        let running = front
            .call(&Rig::endpoint(HANG), Call::new(""))
            .await
            .unwrap();
        let waiting = {
            let front = front.clone();
            tokio::spawn(async move { front.call(&Rig::endpoint(ECHO), Call::new("w")).await })
        };
        eventually("one waits", || plane.back.workers[0].server.waiting() == 1);
        assert!(
            !waiting.is_finished(),
            "it is not accepted before the worker took it"
        );
        let error = front
            .call(&Rig::endpoint(ECHO), Call::new(""))
            .await
            .unwrap_err();
        let CallError::Rejected(error) = error else {
            panic!("{error:?}")
        };
        assert_eq!(
            (error.status, error.started),
            (Status::Overloaded, Started::No)
        );
        assert_eq!(error.limit.as_deref(), Some("queue_max"));
        assert!(error.retry_after.is_some() && error.is_retryable());

        // Whoever waits and gives up leaves the worker's queue.
        waiting.abort();
        eventually("nobody waits", || {
            plane.back.workers[0].server.waiting() == 0
        });
        drop(running);
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn stop_reaches_a_request_that_still_waits() {
    everywhere(|io| async move {
        let one = ServerConfig {
            concurrency_max: 1,
            ..ServerConfig::default()
        };
        let plane = Plane::with(Parts {
            workers: vec![one],
            ..Parts::new(io)
        })
        .await;
        let endpoint = Rig::endpoint(HANG);
        let running = plane.front.client.call(&endpoint, Call::new("")).await;
        let (worker, address) = (&plane.back.workers[0].server, plane.address.clone());
        tokio::task::block_in_place(|| {
            let mut peer = RawPeer::ready(&address);
            let stream = peer.open(ECHO, b"w").unwrap();
            eventually("it waits", || worker.waiting() == 1);
            peer.connection.stop(stream);
            peer.flush();
            let (bytes, status, started) = peer.answer(stream);
            assert_eq!((bytes.len(), status), (0, Status::Cancelled));
            assert_ne!(started, Started::Yes);
        });
        assert_eq!((worker.waiting(), worker.running()), (0, 1));
        drop(running);
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn a_lost_worker_is_a_typed_end_that_says_what_had_started() {
    everywhere(|io| async move {
        let one = ServerConfig {
            concurrency_max: 2,
            ..ServerConfig::default()
        };
        let mut plane = Plane::with(Parts {
            workers: vec![one],
            ..Parts::new(io)
        })
        .await;
        let front = plane.front.client.clone();
        let mut running = front
            .call(&Rig::endpoint(HANG), Call::new(""))
            .await
            .unwrap();
        assert_eq!(running.next().await, Some(Ok(Bytes::from("first"))));
        // In the middle of a message.
        let large = Call::new("100 10000000");
        let mut partial = front.call(&Rig::endpoint(COUNT), large).await.unwrap();
        let waiting = {
            let front = front.clone();
            tokio::spawn(async move { front.call(&Rig::endpoint(ECHO), Call::new("w")).await })
        };
        eventually("one waits", || plane.back.workers[0].server.waiting() == 1);
        drop(plane.back.workers.remove(0));

        let error = running.next().await.unwrap().unwrap_err();
        assert_eq!(
            (error.status, error.started),
            (Status::ConnectionLost, Started::Yes)
        );
        assert_eq!(running.next().await, None, "one terminal");
        assert_eq!(drain(&mut partial).await.2, Status::ConnectionLost);
        let error = waiting.await.unwrap().unwrap_err();
        assert_ne!(error.started(), Started::Yes);
        eventually("nothing is left", || plane.is_quiet());

        // Nobody is there any more: the relay says so, and nothing has started.
        let error = front
            .call(&Rig::endpoint(ECHO), Call::new(""))
            .await
            .unwrap_err();
        assert_ne!(error.started(), Started::Yes, "{error:?}");
    });
}
