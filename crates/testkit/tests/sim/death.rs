//! Processes that end, well or badly, while calls are under way.

use ringmain_codec::{InstanceId, Started, Status};
use ringmain_telemetry::Counter;
use ringmain_testkit::sim::{Fate, Habit, JobKind};

use crate::support::{CLIENT, Cluster, errand, is_whole, job, millis};

#[test]
fn the_streams_of_a_killed_worker_end_at_once_and_the_others_go_on() {
    let mut cluster = Cluster::new(2, millis(1_000), millis(1_000));
    for number in 0..200 {
        let job = job(number, JobKind::Emit, 300, millis(10));
        cluster.assign(errand(millis(number), job, Habit::Patient));
    }
    for number in 200..250 {
        let job = job(number, JobKind::Emit, 10, millis(1));
        cluster.assign(errand(millis(1_001), job, Habit::Patient));
    }
    cluster.world.run_until(millis(1_000));
    cluster.world.kill(cluster.workers[0]);
    let reports = cluster.finish(millis(20_000));
    assert_eq!(reports.len(), 250);
    let (mut lost, mut whole) = (0, 0);
    for report in &reports {
        match &report.fate {
            Fate::Ended {
                status: Status::ConnectionLost,
                ..
            } => {
                assert!(
                    report.errand.job.number < 200,
                    "a call made later: {report:?}"
                );
                assert!(report.ended <= millis(2_000), "{report:?}");
                lost += 1;
            }
            _ => {
                assert!(is_whole(report), "{report:?}");
                whole += 1;
            }
        }
    }
    assert_eq!((lost, whole), (100, 150));
}

#[test]
fn a_drained_worker_fails_nobody() {
    let mut cluster = Cluster::new(2, millis(1_000), millis(1_000));
    for number in 0..300 {
        let job = job(number, JobKind::Emit, 50, millis(10));
        cluster.assign(errand(millis(number * 5), job, Habit::Patient));
    }
    cluster.world.run_until(millis(700));
    if let Some(server) = cluster.world.server(cluster.workers[0]) {
        server.start_drain();
    }
    cluster.world.deregister(cluster.plans[0].instance);
    let first = cluster.workers[0];
    cluster.world.run_while(millis(5_000), |world| {
        world
            .server(first)
            .is_some_and(|server| server.in_flight() > 0)
    });
    cluster.world.stop(first, millis(1_000));
    cluster.world.run_until(millis(7_000));
    assert!(cluster.world.is_gone(first), "a stopped process ends");
    let reports = cluster.finish(millis(20_000));
    let failed: Vec<_> = reports.iter().filter(|report| !is_whole(report)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(reports.len(), 300);
}

#[test]
fn a_worker_forgets_a_killed_client() {
    let mut cluster = Cluster::new(1, millis(1_000), millis(1_000));
    for number in 0..50 {
        let kind = [JobKind::Hang, JobKind::Echo, JobKind::Emit][number as usize % 3];
        let job = job(number, kind, 10_000, millis(5));
        cluster.assign(errand(millis(number), job, Habit::Patient));
    }
    cluster.world.run_until(millis(500));
    assert_eq!(cluster.world.ledger.running(), 50);
    cluster.world.kill(cluster.caller);
    assert_eq!(cluster.world.reports.lost(), 50);
    cluster.world.run_until(millis(1_000));
    assert_eq!(cluster.world.leftovers(), Vec::<String>::new());
    assert_eq!(cluster.world.links(cluster.workers[0]), 0);
    assert_eq!(cluster.world.net.connections(), 0);
}

#[test]
fn a_reset_ends_its_streams_and_the_next_call_dials_again() {
    let mut cluster = Cluster::new(1, millis(1_000), millis(1_000));
    for number in 0..20 {
        let job = job(number, JobKind::Hang, 0, millis(0));
        cluster.assign(errand(millis(number), job, Habit::Patient));
    }
    cluster.world.run_until(millis(500));
    let cut = cluster.world.net.reset_connections(CLIENT, cluster.host(0));
    assert_eq!(cut, 1);
    let late = job(20, JobKind::Emit, 10, millis(1));
    cluster.assign(errand(millis(1_500), late, Habit::Patient));
    let reports = cluster.finish(millis(10_000));
    let (late, lost) = reports.split_last().unwrap();
    assert!(is_whole(late), "{late:?}");
    for report in lost {
        assert_eq!(report.status(), Some(Status::ConnectionLost), "{report:?}");
        assert!(report.ended <= millis(510), "{report:?}");
    }
}

/// The record still names the instance that was there before: nobody broke the protocol.
#[test]
fn a_stale_address_is_a_refusal() {
    let mut cluster = Cluster::new(1, millis(1_000), millis(1_000));
    cluster.world.kill(cluster.workers[0]);
    let before = cluster.plans[0].instance;
    let mut plan = cluster.plans[0].clone();
    plan.instance = InstanceId::new(99).unwrap();
    let after = cluster.world.start_worker(&plan);
    cluster.world.deregister(plan.instance);
    cluster.world.registry.add(before, plan.listen.clone());
    cluster.assign(errand(
        millis(10),
        job(1, JobKind::Emit, 5, millis(0)),
        Habit::Patient,
    ));
    let reports = cluster.finish(millis(10_000));
    let stale = matches!(
        &reports[..],
        [report] if report.status() == Some(Status::StaleInstance)
            && report.started() == Some(Started::No)
    );
    assert!(stale, "{reports:?}");
    for process in [cluster.caller, after] {
        let counter = |counter| cluster.world.counter(process, counter);
        assert_eq!(counter(Counter::ProtocolErrors), 0);
        assert_eq!(counter(Counter::LinksRefused), 1);
    }
}
