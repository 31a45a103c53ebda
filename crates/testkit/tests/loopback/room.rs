//! Handlers that wait, for credit or for room, with their token in hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringmain_client::Call;
use ringmain_codec::{EndpointId, Status};
use ringmain_server::{LocalInput, LocalSink, Request};
use ringmain_testkit::{COUNT, Rig, eventually};

use crate::{drain, everywhere};

const TOKENS: u64 = 2_000;

/// What handlers of [`serve`] noticed.
#[derive(Default)]
struct Seen {
    sent: AtomicUsize,
    /// Most bytes that any sink had put aside.
    aside: AtomicUsize,
}

/// Serves an endpoint that sends `TOKENS` tokens of 500 bytes.
fn serve(rig: &Rig) -> Arc<Seen> {
    let endpoint: EndpointId = COUNT.parse().unwrap();
    let server = &rig.workers[0].server;
    server.withdraw(&endpoint).unwrap();
    let seen = Arc::<Seen>::default();
    let noticed = Arc::clone(&seen);
    server
        .serve_local(endpoint, move |_| {
            let seen = Arc::clone(&noticed);
            move |_request: Request<LocalInput>, mut sink: LocalSink| {
                let seen = Arc::clone(&seen);
                async move {
                    for _ in 0..TOKENS {
                        sink.send(&[b'x'; 500]).await?;
                        seen.sent.fetch_add(1, Ordering::Relaxed);
                        let aside = sink.buffered_bytes();
                        seen.aside.fetch_max(aside, Ordering::Relaxed);
                    }
                    Ok(())
                }
            }
        })
        .unwrap();
    seen
}

#[test]
fn a_handler_without_credit_puts_nothing_aside() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let seen = serve(&rig);
        let endpoint = Rig::endpoint(COUNT);
        let mut stream = rig.client.call(&endpoint, Call::new("")).await.unwrap();
        // Nobody reads: it stops at the window, and goes on once somebody does.
        eventually("the window is used up", || {
            seen.sent.load(Ordering::Relaxed) * 508 > 24 * 1024
        });
        assert_eq!(rig.in_flight(), 1);
        let all = (TOKENS, TOKENS * 500, Status::Ok);
        assert_eq!(drain(&mut stream).await, all);
        assert_eq!(seen.aside.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn producers_that_find_the_link_full_all_get_their_turn() {
    const STREAMS: usize = 100;
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let seen = serve(&rig);
        let endpoint = Rig::endpoint(COUNT);
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            let call = rig.client.call(&endpoint, Call::new(""));
            streams.push(call.await.unwrap());
        }
        // One that leaves while it waits takes nobody's turn.
        let quitter = streams.pop().unwrap();
        drop(quitter);
        let drains = streams.iter_mut().map(drain);
        let drained = futures_util::future::join_all(drains).await;
        assert_eq!(drained.len(), STREAMS - 1);
        let all = (TOKENS, TOKENS * 500, Status::Ok);
        assert!(drained.iter().all(|one| *one == all), "{drained:?}");
        assert_eq!(seen.aside.load(Ordering::Relaxed), 0);
        eventually("all handlers are gone", || rig.in_flight() == 0);
    });
}
