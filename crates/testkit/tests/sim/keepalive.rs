//! Whom keepalive finds, and whom it lets be (spec 8.1).

use std::time::Duration;

use ringmain_codec::{Started, Status};
use ringmain_reactor::driver::sim::Partition;
use ringmain_telemetry::Counter;
use ringmain_testkit::sim::{Fate, Habit, JobKind, Report};

use crate::support::{CLIENT, Cluster, errand, is_whole, job, millis};

/// Silence until the first PING, and three intervals in which nothing answers it.
const INTERVALS: u32 = 4;
/// What timers and the way of the last byte add.
const GRAIN: Duration = millis(10);
/// Never, in these runs.
const NEVER: Duration = Duration::from_secs(3600);

fn ends_unresponsive(report: &Report) -> bool {
    let unresponsive =
        |status, started| status == Status::PeerUnresponsive && started == Started::Yes;
    matches!(report.fate, Fate::Ended { status, started, .. } if unresponsive(status, started))
}

#[test]
fn a_client_finds_a_silent_worker_in_time() {
    for interval in [millis(100), millis(1_000)] {
        let mut cluster = Cluster::new(1, NEVER, interval);
        cluster.assign(errand(
            millis(10),
            job(1, JobKind::Hang, 0, millis(0)),
            Habit::Patient,
        ));
        cluster.world.run_until(millis(2_000));
        cluster
            .world
            .net
            .partition(CLIENT, cluster.host(0), Partition::BlackHole);
        let limit = millis(2_000) + INTERVALS * interval + GRAIN;
        let found = cluster
            .world
            .run_while(limit, |world| !world.reports.are_complete());
        assert!(
            found,
            "{interval:?}: not found within {INTERVALS} intervals"
        );
        let reports = cluster.world.reports.done();
        assert!(ends_unresponsive(&reports[0]), "{reports:?}");
        let took = reports[0].ended - millis(2_000);
        assert!(
            took >= 3 * interval - GRAIN,
            "{interval:?}: given up after {took:?}"
        );
        assert_eq!(
            cluster
                .world
                .counter(cluster.caller, Counter::PeerUnresponsive),
            1
        );
    }
}

#[test]
fn a_worker_finds_a_silent_client_and_ends_its_handlers() {
    let interval = millis(500);
    let mut cluster = Cluster::new(1, interval, NEVER);
    for number in 0..20 {
        let job = job(number, JobKind::Hang, 0, millis(0));
        cluster.assign(errand(millis(number), job, Habit::Patient));
    }
    cluster.world.run_until(millis(1_000));
    assert_eq!(cluster.world.ledger.running(), 20);
    cluster.world.net.drop_connections(CLIENT, cluster.host(0));
    let limit = millis(1_000) + INTERVALS * interval + GRAIN;
    // The client never looks, so that it still has its calls.
    let found = cluster
        .world
        .run_while(limit, |world| world.ledger.running() > 0);
    assert!(found, "not found within {INTERVALS} intervals");
    let in_flight = cluster.world.server(cluster.workers[0]);
    assert_eq!(in_flight.map(ringmain_server::Server::in_flight), Some(0));
    assert_eq!(
        cluster
            .world
            .counter(cluster.workers[0], Counter::PeerUnresponsive),
        1
    );
    assert_eq!(cluster.world.links(cluster.workers[0]), 0);
}

#[test]
fn a_short_partition_loses_nothing() {
    for lasts in [millis(10), millis(1_000), millis(2_900)] {
        let mut cluster = Cluster::new(1, millis(1_000), millis(1_000));
        for number in 0..30 {
            let kind = [JobKind::Emit, JobKind::Echo, JobKind::Take][number as usize % 3];
            let job = job(number, kind, 300, millis(10));
            cluster.assign(errand(millis(number * 10), job, Habit::Patient));
        }
        cluster.world.run_until(millis(1_500));
        cluster
            .world
            .net
            .partition(CLIENT, cluster.host(0), Partition::Hold);
        cluster.world.run_until(millis(1_500) + lasts);
        cluster.world.net.heal_all();
        let reports = cluster.finish(millis(20_000));
        let lost: Vec<_> = reports.iter().filter(|report| !is_whole(report)).collect();
        assert!(lost.is_empty(), "{lasts:?}: {lost:?}");
    }
}

#[test]
fn a_worker_that_stops_for_a_while_loses_nothing() {
    let mut cluster = Cluster::new(1, millis(1_000), millis(1_000));
    cluster.assign(errand(
        millis(0),
        job(1, JobKind::Emit, 300, millis(10)),
        Habit::Patient,
    ));
    cluster.world.run_until(millis(1_000));
    cluster.world.freeze(cluster.workers[0]);
    cluster.world.run_until(millis(3_900));
    cluster.world.thaw(cluster.workers[0]);
    let reports = cluster.finish(millis(20_000));
    assert!(is_whole(&reports[0]), "{reports:?}");
}

#[test]
fn a_worker_that_stops_for_long_is_given_up_and_cleans_up_when_it_is_back() {
    let mut cluster = Cluster::new(1, millis(1_000), millis(1_000));
    cluster.assign(errand(
        millis(0),
        job(1, JobKind::Hang, 0, millis(0)),
        Habit::Patient,
    ));
    cluster.world.run_until(millis(1_000));
    cluster.world.freeze(cluster.workers[0]);
    let limit = millis(1_000) + INTERVALS * millis(1_000) + GRAIN;
    let found = cluster
        .world
        .run_while(limit, |world| !world.reports.are_complete());
    assert!(found, "not found within {INTERVALS} intervals");
    cluster.world.run_until(millis(60_000));
    cluster.world.thaw(cluster.workers[0]);
    let reports = cluster.finish(millis(20_000));
    assert!(ends_unresponsive(&reports[0]), "{reports:?}");
}

/// Its timers are all overdue when it goes on, and the answers wait in its socket.
#[test]
fn a_client_that_stops_for_long_gives_nobody_up() {
    let mut cluster = Cluster::new(1, NEVER, millis(1_000));
    for number in 0..10 {
        let job = job(number, JobKind::Emit, 300, millis(10));
        cluster.assign(errand(millis(0), job, Habit::Patient));
    }
    let hangs = job(10, JobKind::Hang, 0, millis(0));
    cluster.assign(errand(
        millis(0),
        hangs,
        Habit::Stop(ringmain_testkit::sim::When::Messages(1)),
    ));
    cluster.world.run_until(millis(1_000));
    cluster.world.freeze(cluster.caller);
    cluster.world.run_until(millis(61_000));
    cluster.world.thaw(cluster.caller);
    let reports = cluster.finish(millis(20_000));
    assert!(reports.iter().take(10).all(is_whole), "{reports:?}");
    assert_eq!(
        cluster
            .world
            .counter(cluster.caller, Counter::PeerUnresponsive),
        0
    );
}
