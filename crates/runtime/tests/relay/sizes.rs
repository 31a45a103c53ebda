//! Messages of every size come back as they went, and every byte is copied as often as promised.

use bytes::Bytes;
use ringmain_client::Call;
use ringmain_codec::{Config, Started, Status};
use ringmain_telemetry::{Counter, Gauge};
use ringmain_testkit::{COUNT, ECHO, RawPeer, Rig, eventually};

use crate::plane::Plane;
use crate::{drain, everywhere};

fn pattern(len: usize, seed: usize) -> Bytes {
    let byte = |at: usize| (at.wrapping_mul(31) ^ (at >> 8)).wrapping_add(seed) as u8;
    (0..len).map(byte).collect::<Vec<_>>().into()
}

/// All small sizes, those around each limit on the way, and a stride up to 300 KB.
fn sizes() -> impl Iterator<Item = usize> {
    let around = [
        2048, 4096, 8192, 16_360, 16_376, 16_384, 32_752, 32_768, 65_504, 65_536, 131_072,
    ];
    (0..600)
        .chain(around.into_iter().flat_map(|size| size - 10..size + 10))
        .chain((0..=300_000).step_by(4_999))
}

#[test]
fn every_size_comes_back_as_it_went() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        let call = Call::new("first");
        let endpoint = Rig::endpoint(ECHO);
        let (mut sink, mut stream) = plane
            .front
            .client
            .call_streaming(&endpoint, call)
            .await
            .unwrap();
        assert_eq!(
            stream.instance(),
            plane.relay.instance(),
            "through the relay"
        );
        assert_eq!(stream.next().await, Some(Ok(Bytes::from("first"))));
        let mut bytes = 5;
        for (seed, size) in sizes().enumerate() {
            let sent = pattern(size, seed);
            sink.send(sent.clone()).await.unwrap();
            let came = stream.next().await.unwrap().unwrap();
            assert!(came == sent, "{size} bytes");
            bytes += size as u64;
        }
        sink.finish();
        assert_eq!(drain(&mut stream).await, (0, 0, Status::Ok));
        let copies = plane.counter(Counter::CopiesBytes);
        eprintln!("{copies} bytes copied for {bytes}");
        assert!((bytes..=bytes * 2).contains(&copies), "{copies} of {bytes}");
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn ten_megabytes_come_back_as_they_went() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        let sent = pattern(10_000_000, 3);
        let call = Call::new(sent.clone());
        let endpoint = Rig::endpoint(ECHO);
        let mut stream = plane.front.client.call(&endpoint, call).await.unwrap();
        let came = stream.next().await.unwrap().unwrap();
        assert!(came == sent);
        assert_eq!(drain(&mut stream).await, (0, 0, Status::Ok));
        let copies = plane.counter(Counter::CopiesBytes);
        eprintln!("{copies} bytes copied for {}", sent.len());
        assert!(copies <= 2 * sent.len() as u64, "{copies}");
        eventually("nothing is left", || plane.is_quiet());
    });
}

#[test]
fn a_consumer_that_keeps_up_costs_one_copy_of_each_byte() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        let endpoint = Rig::endpoint(ECHO);
        let call = Call::new("first");
        let (mut sink, mut stream) = plane
            .front
            .client
            .call_streaming(&endpoint, call)
            .await
            .unwrap();
        let mut bytes = stream.next().await.unwrap().unwrap().len() as u64;
        for size in (0..12_000).step_by(61) {
            sink.send(pattern(size, size)).await.unwrap();
            bytes += stream.next().await.unwrap().unwrap().len() as u64;
        }
        // Tokens that all come at once, within the caller's credit.
        let mut burst = plane
            .front
            .client
            .call(&Rig::endpoint(COUNT), Call::new("200 64"))
            .await
            .unwrap();
        let (_, burst_bytes, status) = drain(&mut burst).await;
        assert_eq!((burst_bytes, status), (200 * 64, Status::Ok));
        assert_eq!(plane.counter(Counter::CopiesBytes), bytes + burst_bytes);
        assert_eq!(plane.gauge(Gauge::InboxBytes), 0);
    });
}

#[test]
fn a_caller_that_takes_short_frames_gets_short_frames() {
    everywhere(|io| async move {
        let plane = Plane::start(io).await;
        for (frame, window) in [(64, 32 * 1024), (16_376, 128), (1000, 3000)] {
            let mut config = Config::dialer(None);
            config.limits.fragment_bytes_max = frame;
            config.limits.stream_window = window;
            config.stream_window_max = window;
            let address = plane.address.clone();
            let answer = tokio::task::spawn_blocking(move || {
                let mut peer = RawPeer::with(&address, config);
                peer.flush();
                peer.until(|seen| *seen == ringmain_testkit::Seen::Ready);
                let stream = peer.open(COUNT, b"3 5000").unwrap();
                peer.answer(stream)
            });
            let (bytes, status, started) = answer.await.unwrap();
            assert_eq!(
                (bytes.len(), status, started),
                (15_000, Status::Ok, Started::Yes)
            );
            assert_eq!(bytes[5000], 1, "in order");
        }
        eventually("nothing is left", || plane.is_quiet());
    });
}
