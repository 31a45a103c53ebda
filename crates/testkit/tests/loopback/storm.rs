//! After a storm everything is back where it was.

use ringmain_client::Call;
use ringmain_codec::Status;
use ringmain_telemetry::{Counter, Gauge};
use ringmain_testkit::{COUNT, Rig, eventually, open_descriptors};

use crate::{drain, everywhere};

const STREAMS: u64 = 10_000;

#[test]
fn ten_thousand_streams_a_fifth_of_them_cancelled_leave_nothing_behind() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        // One call opens the link, which stays.
        let mut first = rig
            .client
            .call(&Rig::endpoint(COUNT), Call::new("1 8"))
            .await
            .unwrap();
        assert_eq!(drain(&mut first).await.2, Status::Ok);
        let descriptors = open_descriptors();

        let calls = (0..STREAMS).map(|number| {
            let client = rig.client.clone();
            tokio::spawn(async move {
                let endpoint = Rig::endpoint(COUNT);
                let call = client.call(&endpoint, Call::new("20 64"));
                let cancels = number % 5 == 0;
                if cancels && number % 3 == 0 {
                    // Dropped before the worker took it, or just after.
                    let soon = std::time::Duration::from_micros(number % 977);
                    return match tokio::time::timeout(soon, call).await {
                        Ok(Ok(_)) | Err(_) => Ended::Cancelled,
                        Ok(Err(error)) => panic!("{error}"),
                    };
                }
                let mut stream = call.await.unwrap();
                if cancels {
                    for _ in 0..number % 19 {
                        stream.next().await.unwrap().unwrap();
                    }
                    return Ended::Cancelled;
                }
                assert_eq!(drain(&mut stream).await, (20, 20 * 64, Status::Ok));
                Ended::Ok
            })
        });
        let mut ok = 0;
        for call in calls.collect::<Vec<_>>() {
            ok += u64::from(call.await.unwrap() == Ended::Ok);
        }
        assert_eq!(ok, STREAMS - STREAMS / 5);

        let worker = &rig.workers[0];
        eventually("handlers are gone", || rig.in_flight() == 0);
        eventually("streams are gone", || worker.gauge(Gauge::StreamsOpen) == 0);
        assert_eq!(worker.gauge(Gauge::ReassemblyBytes), 0);
        assert_eq!(worker.links_by_shard(), [1], "one link, the one there was");
        // What an earlier rig still had open at the first count may be closed by now.
        eventually("descriptors are closed", || {
            open_descriptors() <= descriptors
        });
        let ended = [
            Counter::StreamsOk,
            Counter::StreamsCancelled,
            Counter::StreamsFailed,
        ]
        .map(|counter| worker.counter(counter));
        assert_eq!(ended[2], 0, "nothing failed");
        let started = worker.counter(Counter::StreamsStarted);
        assert_eq!(
            started,
            ended.iter().sum::<u64>(),
            "each that started ended once"
        );

        // Credit is back too: as much again flows.
        let call = Call::new("2000 1000");
        let mut after = rig.client.call(&Rig::endpoint(COUNT), call).await.unwrap();
        assert_eq!(drain(&mut after).await, (2000, 2_000_000, Status::Ok));
    });
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Ok,
    Cancelled,
}
