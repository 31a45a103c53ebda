//! Shards that are turned by hand.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringmain_codec::InstanceId;
use ringmain_reactor::driver::sim::{SimConfig, SimNet};
use ringmain_reactor::{Address, IoKind, ListenOptions};
use ringmain_server::{Server, ServerConfig};
use ringmain_shard::{ShardSet, ShardSetConfig, Turn};

fn server_on(
    net: &SimNet,
) -> (
    Server,
    Vec<ringmain_shard::Shard<ringmain_reactor::driver::sim::SimReactor>>,
) {
    let reactors = vec![net.reactor("host"), net.reactor("host")];
    let (set, shards) = ShardSet::manual(reactors, &ShardSetConfig::default());
    assert_eq!(set.io(), IoKind::Sim);
    let instance = InstanceId::new(1).unwrap();
    (
        Server::new(Arc::new(set), instance, ServerConfig::default()),
        shards,
    )
}

#[test]
fn a_listener_opens_in_the_next_turn() {
    let net = SimNet::new(1, SimConfig::calm());
    let (server, mut shards) = server_on(&net);
    let any: Address = "10.0.0.1:0".parse().unwrap();
    let refused = server.listen(&any, &ListenOptions::default());
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::Unsupported);
    let listening = server
        .begin_listen(&any, &ListenOptions::default())
        .unwrap();
    assert!(listening.poll().is_none());
    assert_eq!(shards[0].turn().unwrap(), Turn::Continue);
    let bound = listening.poll().unwrap().unwrap();
    assert_ne!(bound, any);
    let again = server
        .begin_listen(&bound, &ListenOptions::default())
        .unwrap();
    assert_eq!(shards[0].turn().unwrap(), Turn::Continue);
    assert!(again.poll().unwrap().is_err());
}

#[test]
fn a_stopped_set_ends_each_shard_and_takes_nothing_more() {
    let net = SimNet::new(2, SimConfig::calm());
    let (server, mut shards) = server_on(&net);
    server.shards().stop(Duration::from_secs(1)).unwrap();
    for shard in &mut shards {
        assert_eq!(shard.turn().unwrap(), Turn::Stopped);
    }
    drop(shards);
    assert!(
        server
            .shards()
            .handles()
            .iter()
            .all(|handle| handle.is_stopped())
    );
    let any: Address = "10.0.0.1:0".parse().unwrap();
    assert!(
        server
            .begin_listen(&any, &ListenOptions::default())
            .is_err()
    );
}

#[test]
fn time_is_that_of_the_turns() {
    let net = SimNet::new(3, SimConfig::calm());
    let (server, mut shards) = server_on(&net);
    let start = net.now();
    let far = start + Duration::from_secs(1_000_000);
    assert_eq!(server.shards().clock().now(), start);
    let woken = Arc::new(std::sync::Mutex::new(None));
    let told = Arc::clone(&woken);
    let ctx = shards[1].ctx().clone();
    shards[1]
        .ctx()
        .spawn(async move {
            ctx.sleep_until(far).await;
            *told.lock().unwrap() = Some(ctx.now());
        })
        .detach();
    assert!(
        shards[1].next_wait().is_some_and(|at| at <= net.now()),
        "a new task is work"
    );
    shards[1].turn().unwrap();
    let wait = shards[1].next_wait().unwrap();
    assert!(wait > Instant::now() && wait <= far);
    while woken.lock().unwrap().is_none() {
        let next = shards[1].next_wait().unwrap();
        net.advance_to(next);
        shards[1].turn().unwrap();
    }
    let at = woken.lock().unwrap().unwrap();
    assert!(at >= far, "never early");
    assert_eq!(server.shards().clock().now(), at);
}
