//! Messages of every size, and the one that is too large.

use bytes::Bytes;
use ringmain_client::{Call, ClientConfig};
use ringmain_codec::Status;
use ringmain_reactor::SocketOptions;
use ringmain_server::ServerConfig;
use ringmain_testkit::{COUNT, ECHO, Rig, TAKE, WorkerConfig};

use crate::{drain, everywhere};

const MESSAGE_BYTES_MAX: usize = 64 << 20;

fn pattern(len: usize, seed: u8) -> Bytes {
    (0..len)
        .map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed))
        .collect::<Vec<_>>()
        .into()
}

#[test]
fn every_size_comes_back_as_it_went() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let sizes = [
            0, 1, 2, 127, 2047, 2048, 8192, 8193, 16_376, 16_377, 40_000, 300_000,
        ];
        for (seed, size) in (0u8..).zip(sizes) {
            let sent = pattern(size, seed);
            let call = Call::new(sent.clone());
            let mut stream = rig.client.call(&Rig::endpoint(ECHO), call).await.unwrap();
            assert_eq!(stream.next().await, Some(Ok(sent)), "{size} bytes");
            assert_eq!(drain(&mut stream).await, (0, 0, Status::Ok));
        }
    });
}

#[test]
fn the_largest_message_passes_and_one_byte_more_does_not() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let mut held = rig
            .client
            .call(&Rig::endpoint(ECHO), Call::new("held"))
            .await
            .unwrap();
        assert_eq!(held.next().await, Some(Ok(Bytes::from("held"))));

        let largest = Bytes::from(vec![7; MESSAGE_BYTES_MAX]);
        let call = Call::new(largest.clone());
        let mut stream = rig.client.call(&Rig::endpoint(ECHO), call).await.unwrap();
        let echoed = stream.next().await.unwrap().unwrap();
        assert!(echoed == largest, "the largest message came back whole");
        drop((stream, echoed, largest));

        // Ours is refused here, the worker's there: the same status at both ends.
        let over = Call::new(vec![7; MESSAGE_BYTES_MAX + 1]);
        let refused = rig
            .client
            .call(&Rig::endpoint(ECHO), over)
            .await
            .unwrap_err();
        assert_eq!(refused.status(), Status::TooLarge);
        let call = Call::new(format!("1 {}", MESSAGE_BYTES_MAX + 1));
        let status = match rig.client.call(&Rig::endpoint(COUNT), call).await {
            Ok(mut stream) => drain(&mut stream).await.2,
            Err(error) => error.status(),
        };
        assert_eq!(status, Status::TooLarge);

        // The connection lives on.
        let mut stream = rig
            .client
            .call(&Rig::endpoint(ECHO), Call::new("after"))
            .await
            .unwrap();
        assert_eq!(stream.next().await, Some(Ok(Bytes::from("after"))));
        assert_eq!(
            rig.workers[0].links_by_shard(),
            [1],
            "on the one link there was"
        );
    });
}

/// Both ways at once over one connection whose sockets hold 16 KiB.
fn both_ways_at_once(streams: u8, bytes: usize) {
    everywhere(|io, home| async move {
        let socket = SocketOptions {
            recv_buffer_bytes: Some(16 << 10),
            send_buffer_bytes: Some(16 << 10),
            ..SocketOptions::default()
        };
        // Every message may be arriving at once.
        let in_arrival = usize::from(streams) * bytes;
        let server = ServerConfig {
            reassembly_bytes_max: in_arrival,
            ..ServerConfig::default()
        };
        let worker = WorkerConfig {
            socket: socket.clone(),
            server,
            ..WorkerConfig::new(io)
        };
        let client = ClientConfig {
            socket,
            reassembly_bytes_max: in_arrival,
            ..ClientConfig::default()
        };
        let rig = Rig::with(vec![worker], home, client).await;
        // Made once, so that the runtime is not kept from its links: each stream sends another
        // part of it.
        let all = pattern(bytes + usize::from(streams), 0);
        let calls = (0..streams).map(|seed| {
            let client = rig.client.clone();
            let sent = all.slice(usize::from(seed)..usize::from(seed) + bytes);
            tokio::spawn(async move {
                let call = Call::new(sent.clone());
                let mut stream = client.call(&Rig::endpoint(ECHO), call).await.unwrap();
                let came = stream.next().await.unwrap().unwrap();
                assert!(came == sent, "stream {seed} came back as it went");
                assert_eq!(drain(&mut stream).await.2, Status::Ok);
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
        assert_eq!(rig.workers[0].links_by_shard(), [1]);
        assert_eq!(rig.in_flight(), 0);
    });
}

#[test]
fn two_hundred_streams_of_a_megabyte_each_way() {
    both_ways_at_once(200, 1 << 20);
}

#[test]
fn long_two_hundred_streams_of_ten_megabytes_each_way() {
    both_ways_at_once(200, 10 << 20);
}

#[test]
fn streamed_input_arrives_whole_and_in_order() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let call = Call::new("0123456789");
        let (mut sink, mut stream) = rig
            .client
            .call_streaming(&Rig::endpoint(TAKE), call)
            .await
            .unwrap();
        for _ in 0..1000 {
            sink.send(Bytes::from_static(&[b'x'; 500])).await.unwrap();
        }
        sink.finish();
        assert_eq!(stream.next().await, Some(Ok(Bytes::from("1001 500010"))));
        assert_eq!(drain(&mut stream).await.2, Status::Ok);
    });
}
