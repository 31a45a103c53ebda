//! Many streams at once, and a consumer that does not read.

use bytes::Bytes;
use ringmain_client::{Call, ClientConfig};
use ringmain_codec::Status;
use ringmain_telemetry::{Counter, Gauge};
use ringmain_testkit::{COUNT, ECHO, Rig, eventually};

use crate::plane::{Parts, Plane};
use crate::{drain, everywhere};

#[test]
fn a_thousand_streams_of_small_tokens_complete() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        let streams = (0..1000).map(|_| {
            let client = plane.front.client.clone();
            tokio::spawn(async move {
                let call = Call::new("200 48");
                let mut stream = client.call(&Rig::endpoint(COUNT), call).await.unwrap();
                let mut expected = 0u64;
                while let Some(token) = stream.next().await {
                    let token = token.unwrap();
                    assert_eq!(token.len(), 48);
                    assert_eq!(token[..8], expected.to_le_bytes(), "in order");
                    expected += 1;
                }
                assert_eq!(stream.end().unwrap().status(), Status::Ok);
                expected
            })
        });
        for stream in streams.collect::<Vec<_>>() {
            assert_eq!(stream.await.unwrap(), 200);
        }
        let (bytes, copies) = (1000 * 200 * 48, plane.counter(Counter::CopiesBytes));
        eprintln!("{copies} bytes copied for {bytes}");
        assert!((bytes..=2 * bytes).contains(&copies), "{copies}");
        assert_eq!(plane.counter(Counter::TokensSent), 200_000);
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn a_consumer_that_does_not_read_stops_the_worker_and_nobody_else() {
    const WINDOW: u32 = 64 * 1024;
    everywhere(|io| async move {
        let client = ClientConfig {
            stream_window_max: WINDOW,
            ..ClientConfig::default()
        };
        let plane = Plane::with(Parts {
            relay_client: client.clone(),
            client,
            ..Parts::new(io)
        })
        .await;
        for (request, messages, bytes) in [
            ("1000000 100", 1_000_000, 100_000_000),
            ("100 1000000", 100, 100_000_000),
        ] {
            let before = plane.back.workers[0].counter(Counter::BytesSent);
            let call = Call::new(request);
            let mut slow = plane
                .front
                .client
                .call(&Rig::endpoint(COUNT), call)
                .await
                .unwrap();
            for round in 0..100 {
                let sent = Bytes::from(round.to_string());
                let call = Call::new(sent.clone());
                let mut other = plane
                    .front
                    .client
                    .call(&Rig::endpoint(ECHO), call)
                    .await
                    .unwrap();
                assert_eq!(other.next().await, Some(Ok(sent)));
                assert!(plane.gauge(Gauge::InboxBytes) <= u64::from(WINDOW));
            }
            eventually("the relay holds what it may", || {
                plane.gauge(Gauge::InboxBytes) > 0
            });
            let sent = plane.back.workers[0].counter(Counter::BytesSent) - before;
            // One message may be put together by the client whatever its window.
            assert!(sent <= 1_000_000 + 4 * u64::from(WINDOW), "{sent}");
            assert_eq!(drain(&mut slow).await, (messages, bytes, Status::Ok));
            eventually("nothing is left", || plane.is_quiet());
        }
    });
}
