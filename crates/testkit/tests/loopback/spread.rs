//! Links spread evenly over shards.

use ringmain_testkit::{COUNT, RawPeer, Worker, WorkerConfig, drivers, eventually};

#[test]
fn eight_links_over_four_shards_are_two_each() {
    for io in drivers() {
        let config = WorkerConfig {
            shards: 4,
            ..WorkerConfig::new(io)
        };
        let worker = Worker::start(1, config);
        let mut peers: Vec<_> = (0..8).map(|_| RawPeer::ready(&worker.address)).collect();
        assert_eq!(worker.links_by_shard(), [2, 2, 2, 2], "{io:?}");
        for peer in &mut peers {
            let stream = peer.open(COUNT, b"2 8").unwrap();
            assert_eq!(peer.answer(stream).0.len(), 16);
        }
        peers.truncate(3);
        eventually("links close", || {
            worker.links_by_shard().iter().sum::<usize>() == 3
        });
        let more: Vec<_> = (0..5).map(|_| RawPeer::ready(&worker.address)).collect();
        assert_eq!(
            worker.links_by_shard(),
            [2, 2, 2, 2],
            "freed places are filled first"
        );
        drop(more);
    }
}
