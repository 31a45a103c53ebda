//! Requests: their head, their streamed input, and those that are too large.

use std::time::Duration;

use bytes::Bytes;
use ringmain_client::{Call, CallError, ClientConfig};
use ringmain_codec::{Priority, RequestId, Started, Status};
use ringmain_server::ServerConfig;
use ringmain_testkit::{COUNT, ECHO, Rig, TAKE, eventually};

use crate::plane::{CONTEXT, Parts, Plane};
use crate::{drain, everywhere};

#[test]
fn the_head_of_a_request_is_kept() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        let call = Call::new("x")
            .request_id(RequestId([9; 16]))
            .priority(Priority::High)
            .deadline(Duration::from_secs(100))
            .metadata("tenant", "a")
            .metadata("route", "b");
        let mut stream = plane
            .front
            .client
            .call(&Rig::endpoint(CONTEXT), call)
            .await
            .unwrap();
        let text = stream.next().await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&text);
        let id = format!("{:?}", RequestId([9; 16]));
        let head = format!("{id} High None Some(99) [\"tenant=a\", \"route=b\"]");
        assert_eq!(text, head, "a little of the deadline is used up");
    });
}

#[test]
fn streamed_input_arrives_whole_and_in_order() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        for first in ["", "0123456789"] {
            let endpoint = Rig::endpoint(TAKE);
            let call = Call::new(first);
            let (mut sink, mut stream) = plane
                .front
                .client
                .call_streaming(&endpoint, call)
                .await
                .unwrap();
            for size in 0..2000 {
                sink.send(vec![b'x'; size * 7]).await.unwrap();
            }
            sink.finish();
            let bytes = first.len() + 7 * 2000 * 1999 / 2;
            let answer = Bytes::from(format!("2001 {bytes}"));
            assert_eq!(stream.next().await, Some(Ok(answer)));
            assert_eq!(drain(&mut stream).await.2, Status::Ok);
        }
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn what_does_not_fit_the_worker_or_the_caller_is_too_large() {
    everywhere(|io| async move {
        let small = ServerConfig {
            message_bytes_max: 10_000,
            ..ServerConfig::default()
        };
        let client = ClientConfig {
            message_bytes_max: 20_000,
            ..ClientConfig::default()
        };
        let plane = Plane::with(Parts {
            workers: vec![small],
            client,
            ..Parts::new(io)
        })
        .await;
        let front = &plane.front.client;
        let fits = Call::new(vec![1; 10_000]);
        let mut stream = front.call(&Rig::endpoint(ECHO), fits).await.unwrap();
        assert_eq!(drain(&mut stream).await, (1, 10_000, Status::Ok));

        let over = Call::new(vec![1; 10_001]);
        let error = front.call(&Rig::endpoint(ECHO), over).await.unwrap_err();
        assert_eq!(error.started(), Started::No);
        let CallError::Rejected(error) = error else {
            panic!("{error:?}")
        };
        assert_eq!(error.status, Status::TooLarge);
        assert_eq!(error.limit.as_deref(), Some("message_bytes_max"));

        let (mut sink, mut stream) = front
            .call_streaming(&Rig::endpoint(ECHO), Call::new("x"))
            .await
            .unwrap();
        sink.send(vec![1; 10_001]).await.unwrap();
        let (messages, _, status) = drain(&mut stream).await;
        assert_eq!((messages, status), (1, Status::TooLarge));

        for (request, answer) in [
            ("2 20000", (2, 40_000, Status::Ok)),
            ("1 20001", (0, 0, Status::TooLarge)),
        ] {
            let status = match front.call(&Rig::endpoint(COUNT), Call::new(request)).await {
                Ok(mut stream) => drain(&mut stream).await,
                Err(error) => (0, 0, error.status()),
            };
            assert_eq!(status, answer);
        }
        eventually("nothing is left", || plane.is_quiet());
    });
}
