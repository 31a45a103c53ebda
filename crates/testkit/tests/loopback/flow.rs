//! A slow consumer costs nobody else anything.

use std::time::Duration;

use bytes::Bytes;
use ringmain_client::{Call, ClientConfig};
use ringmain_codec::Status;
use ringmain_server::{Keepalive, ServerConfig};
use ringmain_testkit::{COUNT, ECHO, Rig, WorkerConfig};

use crate::{drain, everywhere};

/// Keepalive short enough that a link held up by its consumers would be lost in this test.
const ACTIVE: Duration = Duration::from_millis(200);

async fn rig_with_short_keepalive(
    io: ringmain_reactor::IoChoice,
    home: ringmain_testkit::HomeKind,
) -> Rig {
    let server = ServerConfig {
        keepalive: Keepalive {
            active: ACTIVE,
            misses_max: 15,
            ..Keepalive::default()
        },
        ..ServerConfig::default()
    };
    let worker = WorkerConfig {
        server,
        ..WorkerConfig::new(io)
    };
    let client = ClientConfig {
        keepalive_active: ACTIVE,
        ..ClientConfig::default()
    };
    Rig::with(vec![worker], home, client).await
}

#[test]
fn consumers_that_hold_their_last_item_do_not_hold_the_others() {
    everywhere(|io, home| async move {
        let rig = rig_with_short_keepalive(io, home).await;
        // Each has one item in hand, one unread, and thousands that wait for credit.
        let mut held = Vec::new();
        for _ in 0..1000 {
            let call = Call::new("2000 64");
            let mut stream = rig.client.call(&Rig::endpoint(COUNT), call).await.unwrap();
            let first = stream.next().await.unwrap().unwrap();
            held.push((stream, first));
        }
        let others = (0..100).map(|_| {
            let client = rig.client.clone();
            tokio::spawn(async move {
                let call = Call::new("3000 64");
                let mut stream = client.call(&Rig::endpoint(COUNT), call).await.unwrap();
                drain(&mut stream).await
            })
        });
        for other in others.collect::<Vec<_>>() {
            assert_eq!(other.await.unwrap(), (3000, 3000 * 64, Status::Ok));
        }
        // Long enough for a held-up keepalive to be missed, then still on the same link.
        tokio::time::sleep(ACTIVE * 4).await;
        assert_eq!(rig.workers[0].links_by_shard(), [1]);
        for (mut stream, first) in held {
            assert_eq!(first.len(), 64);
            assert_eq!(drain(&mut stream).await, (1999, 1999 * 64, Status::Ok));
        }
    });
}

#[test]
fn a_wedged_stream_stalls_only_itself() {
    everywhere(|io, home| async move {
        let rig = rig_with_short_keepalive(io, home).await;
        let call = Call::new("100 1000000");
        let mut wedged = rig.client.call(&Rig::endpoint(COUNT), call).await.unwrap();
        for round in 0u32..50 {
            let sent = Bytes::from(round.to_string());
            let call = Call::new(sent.clone());
            let mut stream = rig.client.call(&Rig::endpoint(ECHO), call).await.unwrap();
            assert_eq!(stream.next().await, Some(Ok(sent)));
        }
        assert_eq!(drain(&mut wedged).await, (100, 100_000_000, Status::Ok));
    });
}
