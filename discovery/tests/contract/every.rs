//! The contract of every registry that instances register in.

use std::{collections::BTreeMap, sync::Arc};

use ringmain_discovery::{ErrorKind, Registry};
use ringmain_telemetry::Counter;

use crate::support::{World, endpoint, id, ids, instance, now, until};

macro_rules! on_every_backend {
    ($($name:ident)*) => {
        mod memory {
            use crate::support::World;
            $(#[test] fn $name() { super::$name(&World::memory()); })*
        }
        mod file {
            use crate::support::World;
            $(#[test] fn $name() { super::$name(&World::file()); })*
        }
    };
}

on_every_backend! {
    registrations_appear_and_disappear
    registering_again_is_the_next_epoch_and_no_new_generation
    another_address_is_a_new_generation
    metadata_changes_without_a_new_generation
    endpoints_do_not_disturb_each_other
    what_nobody_could_dial_is_refused
    watches_are_shared_and_end_with_the_last_handle
    handles_outlive_the_registry_value
    members_are_sorted_and_listed
}

fn registrations_appear_and_disappear(world: &World) {
    let handle = world.watch("generate");
    assert!(handle.load().is_empty() && !handle.load().is_stale());
    let one =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let two =
        now(world.server.register(instance(2, "generate", "10.0.0.2:7"))).expect("registered");
    assert!(one.is_live() && one.epoch() == 1 && one.id() == id(1));
    until(&handle, "both", |snapshot| ids(snapshot) == [1, 2]);
    // A second watch sees them at once.
    assert_eq!(
        ids(&now(world.server.watch(endpoint("generate")))
            .expect("watched")
            .load()),
        [1, 2]
    );
    now(one.deregister()).expect("removed");
    until(&handle, "one gone", |snapshot| ids(snapshot) == [2]);
    drop(two);
    until(&handle, "both gone", |snapshot| snapshot.is_empty());
    // And back: success comes with the first that returns.
    let _three =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let snapshot = until(&handle, "one back", |snapshot| ids(snapshot) == [1]);
    assert_eq!(snapshot.members()[0].instance.epoch, 2);
}

fn registering_again_is_the_next_epoch_and_no_new_generation(world: &World) {
    let handle = world.watch("generate");
    let first =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let before = until(&handle, "the first", |snapshot| ids(snapshot) == [1]);
    let second =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    assert_eq!((first.epoch(), second.epoch()), (1, 2));
    assert!(!first.is_live() && second.is_live());
    let after = until(&handle, "the second", |snapshot| {
        snapshot.members()[0].instance.epoch == 2
    });
    let places = |snapshot: &ringmain_discovery::Snapshot| {
        let member = &snapshot.members()[0];
        (member.slot, member.generation)
    };
    assert_eq!(places(&before), places(&after));
    // The first has no say any more.
    let refused = now(first.update_metadata(BTreeMap::new())).expect_err("replaced");
    assert_eq!(refused.kind(), ErrorKind::NotRegistered);
    drop(first);
    assert_eq!(
        now(world.caller.list(Some(endpoint("generate"))))
            .expect("listed")
            .len(),
        1
    );
    drop(second);
    until(&handle, "the end", |snapshot| snapshot.is_empty());
}

fn another_address_is_a_new_generation(world: &World) {
    let handle = world.watch("generate");
    let first =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let before = until(&handle, "the first", |snapshot| ids(snapshot) == [1]).members()[0].clone();
    let _second =
        now(world.server.register(instance(1, "generate", "10.0.0.1:8"))).expect("registered");
    let moved = |snapshot: &ringmain_discovery::Snapshot| {
        snapshot.members()[0].instance.addresses[0].to_string() == "10.0.0.1:8"
    };
    let after = until(&handle, "the second", moved).members()[0].clone();
    assert_eq!(
        (after.slot, after.generation),
        (before.slot, before.generation + 1)
    );
    drop(first);
}

fn metadata_changes_without_a_new_generation(world: &World) {
    let handle = world.watch("generate");
    let registration =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let before = until(&handle, "it", |snapshot| ids(snapshot) == [1]);
    let metadata = BTreeMap::from([("model".to_owned(), "small".to_owned())]);
    now(registration.update_metadata(metadata.clone())).expect("updated");
    let after = until(&handle, "metadata", |snapshot| {
        snapshot.members()[0].instance.metadata == metadata
    });
    let (before, after) = (&before.members()[0], &after.members()[0]);
    assert_eq!(
        (before.slot, before.generation),
        (after.slot, after.generation)
    );
    assert_eq!(after.instance.epoch, 1);
    let large = BTreeMap::from([("k".to_owned(), "v".repeat(10_000))]);
    let refused = now(registration.update_metadata(large)).expect_err("too large");
    assert_eq!(refused.kind(), ErrorKind::InvalidInstance);
}

fn endpoints_do_not_disturb_each_other(world: &World) {
    let quiet = world.watch("quiet");
    let busy = world.watch("busy");
    let _kept = now(world.server.register(instance(1, "quiet", "10.0.0.1:7"))).expect("registered");
    let before = until(&quiet, "it", |snapshot| ids(snapshot) == [1]);
    for value in 2..100 {
        drop(
            now(world.server.register(instance(value, "busy", "10.0.0.1:7"))).expect("registered"),
        );
    }
    let _last =
        now(world.server.register(instance(100, "busy", "10.0.0.1:7"))).expect("registered");
    until(&busy, "the last", |snapshot| ids(snapshot) == [100]);
    // Not one new snapshot: the very same.
    assert!(Arc::ptr_eq(&quiet.load(), &before));
}

fn what_nobody_could_dial_is_refused(world: &World) {
    for address in ["0.0.0.0:7", "[::]:7", "10.0.0.1:0", "unix:relative"] {
        let error =
            now(world.server.register(instance(1, "generate", address))).expect_err(address);
        assert_eq!(error.kind(), ErrorKind::InvalidInstance);
        assert!(error.to_string().contains(address), "{error}");
    }
    assert_eq!(now(world.caller.list(None)).expect("listed"), []);
}

fn watches_are_shared_and_end_with_the_last_handle(world: &World) {
    let _kept =
        now(world.server.register(instance(1, "generate", "10.0.0.1:7"))).expect("registered");
    let (first, second) = (world.watch("generate"), world.watch("generate"));
    let _more =
        now(world.server.register(instance(2, "generate", "10.0.0.2:7"))).expect("registered");
    let seen = until(&first, "both", |snapshot| ids(snapshot) == [1, 2]);
    assert!(Arc::ptr_eq(&seen, &second.load()));
    let mut reader = first.reader();
    drop((first, second));
    // A reader alone keeps the watch.
    let _third =
        now(world.server.register(instance(3, "generate", "10.0.0.3:7"))).expect("registered");
    until(reader.handle(), "the third", |snapshot| snapshot.len() == 3);
    assert_eq!(ids(reader.load()), [1, 2, 3]);
    assert!(reader.load().version() > 1);
    drop(reader);
    // The next watch is another one: it starts to count again.
    assert_eq!(
        (
            world.watch("generate").load().version(),
            world.watch("generate").load().len()
        ),
        (1, 3)
    );
}

fn handles_outlive_the_registry_value(world: &World) {
    let handle = {
        let caller = world.caller.clone();
        now(caller.watch(endpoint("generate"))).expect("watched")
    };
    let registration = now(world
        .server
        .clone()
        .register(instance(1, "generate", "10.0.0.1:7")));
    until(&handle, "it", |snapshot| ids(snapshot) == [1]);
    drop(registration);
    until(&handle, "the end", |snapshot| snapshot.is_empty());
}

fn members_are_sorted_and_listed(world: &World) {
    let handle = world.watch("generate");
    let register = |value, name| {
        now(world.server.register(instance(value, name, "10.0.0.1:7"))).expect("registered")
    };
    let _kept = [
        register(30, "generate"),
        register(10, "generate"),
        register(20, "generate"),
        register(10, "embed"),
    ];
    let snapshot = until(&handle, "all", |snapshot| snapshot.len() == 3);
    assert_eq!(ids(&snapshot), [10, 20, 30]);
    let mut slots: Vec<_> = snapshot
        .members()
        .iter()
        .map(|member| member.slot)
        .collect();
    slots.sort_unstable();
    assert_eq!((slots, snapshot.slots()), (vec![0, 1, 2], 3));
    let listed = now(world.caller.list(None)).expect("listed");
    let names: Vec<_> = listed
        .iter()
        .map(|one| (one.endpoint.name(), one.id.value()))
        .collect();
    assert_eq!(
        names,
        [
            ("embed", 10),
            ("generate", 10),
            ("generate", 20),
            ("generate", 30)
        ]
    );
    assert_eq!(
        now(world.caller.list(Some(endpoint("embed"))))
            .expect("listed")
            .len(),
        1
    );
    assert!(world.telemetry.counter_total(Counter::SnapshotsPublished) >= 1);
}
