//! Handlers that run on a tokio runtime, off the shards.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use ringmain_client::Call;
use ringmain_codec::{EndpointId, Status};
use ringmain_server::{HandlerError, Input, Request, Server, Sink};
use ringmain_testkit::{COUNT, Rig, eventually};

use crate::{drain, everywhere};

/// Serves one of the test endpoints anew, on the test's own runtime.
fn serve<F, Fut>(server: &Server, handler: F)
where
    F: Fn(Request<Input>, Sink) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
{
    let endpoint: EndpointId = COUNT.parse().unwrap();
    server.withdraw(&endpoint).unwrap();
    server
        .serve(endpoint, handler, tokio::runtime::Handle::current())
        .unwrap();
}

#[test]
fn tokens_and_input_cross_threads_in_order() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        serve(&rig.workers[0].server, |request, mut sink| async move {
            let Request {
                data, mut input, ..
            } = request;
            sink.send(&data).await?;
            while let Some(message) = input.next().await {
                sink.send(&message).await?;
            }
            sink.add_trailer("usage_tokens", "all");
            Ok(())
        });
        let call = Call::new("0");
        let (mut requests, mut stream) = rig
            .client
            .call_streaming(&Rig::endpoint(COUNT), call)
            .await
            .unwrap();
        let sender = tokio::spawn(async move {
            for number in 1..5000u32 {
                requests.send(number.to_string()).await.unwrap();
            }
            requests.finish();
        });
        for number in 0..5000u32 {
            let message = stream.next().await.unwrap().unwrap();
            assert_eq!(message, Bytes::from(number.to_string()));
        }
        assert_eq!(drain(&mut stream).await, (0, 0, Status::Ok));
        assert_eq!(stream.end().unwrap().trailers().iter().count(), 1);
        sender.await.unwrap();
    });
}

#[test]
fn many_streams_end_whole() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        serve(&rig.workers[0].server, |_request, mut sink| async move {
            for _ in 0..500 {
                sink.send(b"a token of some length").await?;
            }
            Ok(())
        });
        let calls: Vec<_> = (0..200)
            .map(|_| {
                let client = rig.client.clone();
                tokio::spawn(async move {
                    let mut stream = client
                        .call(&Rig::endpoint(COUNT), Call::new(""))
                        .await
                        .unwrap();
                    drain(&mut stream).await
                })
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap(), (500, 500 * 22, Status::Ok));
        }
        eventually("slots are free", || rig.in_flight() == 0);
    });
}

struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_dropped_stream_drops_its_handler() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let running = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&running);
        serve(&rig.workers[0].server, move |_request, mut sink| {
            count.fetch_add(1, Ordering::SeqCst);
            let running = Running(Arc::clone(&count));
            async move {
                let _running = running;
                loop {
                    // Nobody reads: it waits here, for room.
                    sink.send(&[b'x'; 1000]).await?;
                }
            }
        });
        let streams: Vec<_> = {
            let mut streams = Vec::new();
            for _ in 0..20 {
                streams.push(
                    rig.client
                        .call(&Rig::endpoint(COUNT), Call::new(""))
                        .await
                        .unwrap(),
                );
            }
            streams
        };
        // A call is accepted as its handler is handed to the runtime, which starts it in its time.
        eventually("every handler runs", || {
            running.load(Ordering::SeqCst) == 20
        });
        drop(streams);
        eventually("handlers are gone", || running.load(Ordering::SeqCst) == 0);
        eventually("slots are free", || rig.in_flight() == 0);
    });
}

#[test]
fn a_panic_and_a_message_too_large_are_typed_ends() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        serve(&rig.workers[0].server, |request, mut sink| async move {
            sink.send(b"first").await?;
            assert_ne!(request.data, "panic", "as the test wants");
            sink.send(&vec![0; (64 << 20) + 1]).await?;
            // Stays until the shard has said what became of it.
            request.context.killed().await;
            Ok(())
        });
        for (data, status) in [
            ("panic", Status::HandlerPanicked),
            ("large", Status::TooLarge),
        ] {
            let mut stream = rig
                .client
                .call(&Rig::endpoint(COUNT), Call::new(data))
                .await
                .unwrap();
            assert_eq!(drain(&mut stream).await.2, status);
        }
        eventually("slots are free", || rig.in_flight() == 0);
    });
}
