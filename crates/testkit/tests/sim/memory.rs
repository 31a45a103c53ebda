//! What a peer can make the other end keep.

use std::time::Duration;

use ringmain_client::ClientConfig;
use ringmain_reactor::driver::sim::SimConfig;
use ringmain_server::ServerConfig;
use ringmain_telemetry::Counter;
use ringmain_testkit::sim::{Errand, Fate, Habit, Job, JobKind, Route, SimWorld, When, WorkerPlan};

const MESSAGE: u32 = 100_000;

/// A handler that never reads its input has the stream's window and one long message at most,
/// whatever its caller sends.
#[test]
fn an_unread_input_is_bounded() {
    let mut world = SimWorld::new(1, SimConfig::calm());
    let worker = world.start_worker(&WorkerPlan::new(1));
    let (process, client) = world.start_client("client", 1, ClientConfig::default());
    let job = Job {
        number: 1,
        kind: JobKind::Ignore,
        count: 40,
        size: MESSAGE,
        pace_us: 0,
    };
    world.assign(
        process,
        &client,
        patient(job, Habit::Stop(When::Time(Duration::from_secs(3)))),
    );
    world.run_until(Duration::from_secs(2));
    let received = world.counter(worker, Counter::BytesReceived);
    // The window may have grown to its largest; twice that and two messages bound it all.
    let bound = 2 * 1024 * 1024;
    assert!(
        received > u64::from(MESSAGE),
        "received {received}: the input never flowed"
    );
    assert!(
        received < bound,
        "received {received} of an input that nobody reads"
    );
    world.run_while(Duration::from_secs(20), |world| {
        !world.reports.are_complete()
    });
    let reports = world.reports.done();
    assert!(
        matches!(&reports[..], [report] if report.received == 2),
        "{reports:?}"
    );
}

/// Messages longer than a small window, and shorter than those that get a buffer of their own.
#[test]
fn a_small_window_stalls_no_message() {
    for size in [100, 127, 1_000, 5_000, 8_191, 8_192, 8_193, 20_000] {
        let mut world = SimWorld::new(2, SimConfig::choppy());
        let server = ServerConfig {
            stream_window_bytes: 128,
            ..ServerConfig::default()
        };
        world.start_worker(&WorkerPlan {
            server,
            ..WorkerPlan::new(1)
        });
        let config = ClientConfig {
            stream_window: 128,
            ..ClientConfig::default()
        };
        let (process, client) = world.start_client("client", 1, config);
        let job = Job {
            number: 1,
            kind: JobKind::Echo,
            count: 5,
            size,
            pace_us: 0,
        };
        world.assign(process, &client, patient(job, Habit::Patient));
        world.run_while(Duration::from_secs(20), |world| {
            !world.reports.are_complete()
        });
        let reports = world.reports.done();
        let good = |fate: &Fate| matches!(fate, Fate::Ended { error: None, .. });
        let all = matches!(&reports[..], [report] if report.received == 5 && good(&report.fate));
        assert!(all, "{size} bytes: {reports:?}");
    }
}

fn patient(job: Job, habit: Habit) -> Errand {
    Errand {
        at: Duration::ZERO,
        job,
        request_bytes: 0,
        deadline: None,
        habit,
        route: Route::Client,
        read_pace: Duration::ZERO,
    }
}
