//! What applies of the contract where people write the list.

use std::fs;

use ringmain_discovery::{Discovery, ErrorKind, Registry, RegistryUrl, Snapshot};
use ringmain_telemetry::Telemetry;
use tempfile::TempDir;

use crate::support::{CALM, endpoint, ids, instance, now, open, until, write};

#[test]
fn the_list_is_followed_and_outlives_mistakes() {
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("list.json");
    let entry = |id: u64, name: &str, address: &str| {
        let endpoint = endpoint(name);
        format!(r#"{{"endpoint":"{endpoint}","id":"{id:016x}","addresses":["{address}"]}}"#)
    };
    let list = |entries: &[String]| write(&file, &format!("[{}]", entries.join(",")));
    list(&[
        entry(1, "generate", "10.0.0.1:7"),
        entry(9, "embed", "10.0.0.9:7"),
    ]);
    let discovery = open(RegistryUrl::Static(file.clone()), &Telemetry::new(0), CALM);
    let handle = now(discovery.watch(endpoint("generate"))).expect("watched");
    let other = now(discovery.watch(endpoint("embed"))).expect("watched");
    assert_eq!(
        (ids(&handle.load()), ids(&other.load())),
        (vec![1], vec![9])
    );
    assert_eq!(now(discovery.list(None)).expect("listed").len(), 2);

    list(&[
        entry(2, "generate", "10.0.0.1:7"),
        entry(9, "embed", "10.0.0.9:7"),
    ]);
    // Another process at the same address: the slot is reused, its generation is new.
    let changed = until(&handle, "the change", |snapshot| ids(snapshot) == [2]);
    assert_eq!(
        (changed.members()[0].slot, changed.members()[0].generation),
        (0, 2)
    );
    assert_eq!(other.load().version(), 1);

    write(&file, "[ {");
    let stale = until(&handle, "the mistake", Snapshot::is_stale);
    assert_eq!(ids(&stale), [2]);
    fs::remove_file(&file).expect("removed");
    list(&[]);
    let empty = until(&handle, "the end of the mistake", |snapshot| {
        !snapshot.is_stale()
    });
    assert!(empty.is_empty());
}

#[test]
fn registering_succeeds_and_changes_nothing() {
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("list.json");
    let listed = r#"[{"endpoint":"prod.worker.generate","addresses":["10.0.0.1:7"]}]"#;
    write(&file, listed);
    let discovery = open(RegistryUrl::Static(file.clone()), &Telemetry::new(0), CALM);
    let handle = now(discovery.watch(endpoint("generate"))).expect("watched");
    let before = handle.load();
    assert_eq!(before.members()[0].instance.expected_id(), None);
    let own = now(discovery.register(instance(5, "generate", "10.0.0.1:7"))).expect("listed");
    let stranger =
        now(discovery.register(instance(6, "generate", "10.0.0.6:7"))).expect("told in the log");
    assert!(own.is_live() && stranger.is_live());
    now(own.deregister()).expect("nothing to do");
    drop(stranger);
    assert_eq!(fs::read_to_string(&file).expect("there"), listed);
    assert_eq!(now(discovery.list(None)).expect("listed").len(), 1);
    assert_eq!(handle.load().members(), before.members());
}

#[test]
fn a_list_must_be_in_order_at_the_start() {
    let url = RegistryUrl::Static("/no/such/list.json".into());
    let error = Discovery::open(url, Telemetry::new(0)).expect_err("missing");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
}
