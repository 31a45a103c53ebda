//! What a directory must stand: crashes, outages and files that are none of ours.

use std::{fs, time::Duration};

use ringmain_discovery::{Discovery, ErrorKind, Options, Registry, RegistryUrl};
use ringmain_telemetry::{Counter, Gauge, Telemetry};

use crate::support::{CALM, World, endpoint, eventually, ids, instance, now, open, until, write};

/// An owner whose records count for a moment only.
const HASTY: Options = Options {
    ttl: Duration::from_millis(60),
    ..CALM
};

#[test]
fn a_crashed_owner_expires_and_a_late_one_returns() {
    let world = World::file_with(HASTY);
    // What a crash leaves behind: a record that nobody renews.
    let registration =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let path = world.record(1, "generate");
    let left = fs::read_to_string(&path).expect("written");
    now(registration.deregister()).expect("removed");
    write(&path, &left);
    let handle = world.watch("generate");
    assert_eq!(ids(&handle.load()), [1]);
    until(&handle, "its end", |snapshot| snapshot.is_empty());
    assert_eq!(
        world
            .telemetry
            .counter_total(Counter::RegistryRecordsExpired),
        1
    );
    assert!(!handle.load().is_stale());
    let beat = left
        .replace("\"heartbeat\":1,", "\"heartbeat\":1000,")
        .replace("\"ttl_ms\":60,", "\"ttl_ms\":60000,");
    assert_ne!(beat, left);
    write(&path, &beat);
    let snapshot = until(&handle, "its return", |snapshot| ids(snapshot) == [1]);
    assert_eq!(snapshot.members()[0].generation, 2);
}

#[test]
fn owners_renew_by_themselves() {
    let world = World::file_with(HASTY);
    let registration =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let path = world.record(1, "generate");
    let first = fs::read_to_string(&path).expect("written");
    eventually("a renewal", || {
        fs::read_to_string(&path).is_ok_and(|text| text != first)
    });
    // Somebody cleaned up: the record comes back.
    // Not in one go: a renewal may write into the directory that is being removed.
    eventually("the removal", || fs::remove_dir_all(world.path()).is_ok());
    eventually("the record", || path.exists() && registration.is_live());
    drop(registration);
    assert!(!path.exists());
}

#[test]
fn a_renewal_that_fails_is_told_and_tried_again() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let telemetry = Telemetry::new(0);
    let server = open(RegistryUrl::File(dir.path().into()), &telemetry, HASTY);
    let registration =
        now(server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let place = dir.path().join(endpoint("generate").as_str());
    // In the way of the directory.
    let blocked = || {
        fs::remove_dir_all(&place)
            .and_then(|()| fs::write(&place, ""))
            .is_ok()
    };
    eventually("the block", blocked);
    eventually("the loss", || !registration.is_live());
    assert_eq!(telemetry.gauge_total(Gauge::RegistrationsLost), 1);
    assert!(telemetry.counter_total(Counter::RegistryErrors) >= 1);
    let error = now(server.register(instance(2, "generate", "10.0.0.2:7"))).expect_err("blocked");
    assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable());
    fs::remove_file(&place).expect("unblocked");
    eventually("the renewal", || registration.is_live());
    assert_eq!(telemetry.gauge_total(Gauge::RegistrationsLost), 0);
}

#[test]
fn an_outage_leaves_the_last_snapshot_marked_stale() {
    let world = World::file();
    let _kept =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let handle = world.watch("generate");
    let before = handle.load();
    let away = world.path().with_extension("away");
    fs::rename(world.path(), &away).expect("moved");
    let stale = until(
        &handle,
        "the outage",
        ringmain_discovery::Snapshot::is_stale,
    );
    assert_eq!(stale.members(), before.members());
    assert_eq!(world.telemetry.gauge_total(Gauge::SnapshotsStale), 1);
    // Who comes during the outage gets nothing, at once, and is told why.
    let late = world.watch("embed");
    assert!(late.load().is_stale() && late.load().is_empty());
    assert_eq!(
        now(world.caller.list(None)).expect_err("away").kind(),
        ErrorKind::Unavailable
    );
    fs::rename(&away, world.path()).expect("moved back");
    let healed = until(&handle, "the end of the outage", |snapshot| {
        !snapshot.is_stale()
    });
    assert_eq!(healed.members(), before.members());
    until(&late, "the end of the outage", |snapshot| {
        !snapshot.is_stale()
    });
    eventually("no stale snapshot", || {
        world.telemetry.gauge_total(Gauge::SnapshotsStale) == 0
    });
}

#[test]
fn foreign_files_harm_nobody() {
    let world = World::file();
    let handle = world.watch("generate");
    let place = world.path().join(endpoint("generate").as_str());
    write(&world.record(7, "generate"), "{ not a record");
    write(&world.record(8, "generate"), &" ".repeat(100_000));
    write(&place.join("notes.txt"), "hello");
    let _kept =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    until(&handle, "the good one", |snapshot| ids(snapshot) == [1]);
    let counts = || {
        let total = |counter| world.telemetry.counter_total(counter);
        [
            total(Counter::RegistryRecordsSkippedMalformed),
            total(Counter::RegistryRecordsSkippedTooLarge),
            total(Counter::RegistryRecordsSkippedForeign),
        ]
    };
    assert_eq!(counts(), [1, 1, 1]);
    // Readings go on, and count nothing twice.
    let _more =
        now(world.server.register(instance(2, "generate", "10.0.0.2:7"))).expect("registered");
    until(&handle, "another", |snapshot| ids(snapshot) == [1, 2]);
    assert_eq!(counts(), [1, 1, 1]);
}

#[test]
fn times_out_of_range_are_refused() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let broken = [
        Options {
            ttl: Duration::ZERO,
            ..CALM
        },
        Options {
            ttl: Duration::MAX,
            ..CALM
        },
        Options {
            rescan: Duration::ZERO,
            ..CALM
        },
        Options {
            debounce: Duration::from_secs(2),
            ..CALM
        },
    ];
    for options in broken {
        let url = RegistryUrl::File(dir.path().into());
        let error =
            Discovery::open_with(url, Telemetry::new(0), options).expect_err("out of range");
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{options:?}");
    }
}
