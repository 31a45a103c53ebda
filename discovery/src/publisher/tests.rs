use super::*;
use crate::Changes;

const ENDPOINT: &str = "prod.worker.generate";

fn instance(id: u64, epoch: u64, address: &str) -> Arc<Instance> {
    let id = InstanceId::new(id).expect("not zero");
    let mut instance = Instance::new(
        id,
        ENDPOINT.parse().expect("id"),
        vec![address.parse().expect("address")],
    );
    instance.epoch = epoch;
    Arc::new(instance)
}

/// Publishes (id, epoch, address) and shows the members as (id, slot, generation).
fn publish(
    publisher: &mut Publisher,
    instances: &[(u64, u64, &str)],
) -> Option<Vec<(u64, u32, u32)>> {
    let instances = instances
        .iter()
        .map(|&(id, epoch, address)| instance(id, epoch, address))
        .collect();
    let changed = publisher.publish(instances, Freshness::Current);
    let snapshot = publisher.handle().load();
    let show = |member: &Member| (member.instance.id.value(), member.slot, member.generation);
    changed.then(|| snapshot.members().iter().map(show).collect())
}

#[test]
fn slots_are_stable_dense_and_reused_under_a_new_generation() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    let mut step = |instances: &[(u64, u64, &str)], expect: Option<&[(u64, u32, u32)]>| {
        assert_eq!(
            publish(&mut publisher, instances).as_deref(),
            expect,
            "{instances:?}"
        );
    };
    step(&[], Some(&[]));
    step(&[], None);
    step(
        &[(20, 1, "h:2"), (10, 1, "h:1")],
        Some(&[(10, 0, 1), (20, 1, 1)]),
    );
    // Order does not matter, and an equal set is no news.
    step(&[(10, 1, "h:1"), (20, 1, "h:2")], None);
    // A newcomer with a lower id moves nobody.
    step(
        &[(5, 1, "h:5"), (10, 1, "h:1"), (20, 1, "h:2")],
        Some(&[(5, 2, 1), (10, 0, 1), (20, 1, 1)]),
    );
    // A new epoch alone is news, but no new generation; a new address is one.
    step(
        &[(5, 2, "h:5"), (10, 1, "h:1"), (20, 1, "h:2")],
        Some(&[(5, 2, 1), (10, 0, 1), (20, 1, 1)]),
    );
    step(
        &[(5, 2, "h:5"), (10, 1, "h:9"), (20, 1, "h:2")],
        Some(&[(5, 2, 1), (10, 0, 2), (20, 1, 1)]),
    );
    // Another id at the same address takes the freed slot as another generation.
    step(
        &[(5, 2, "h:5"), (11, 1, "h:9"), (20, 1, "h:2")],
        Some(&[(5, 2, 1), (11, 0, 3), (20, 1, 1)]),
    );
    step(&[(20, 1, "h:2")], Some(&[(20, 1, 1)]));
    // Gone and back is another generation, too; the lowest slots come first.
    step(
        &[(20, 1, "h:2"), (11, 1, "h:9")],
        Some(&[(11, 0, 4), (20, 1, 1)]),
    );
    step(&[], Some(&[]));
    step(&[(1, 1, "h:1")], Some(&[(1, 0, 5)]));
}

#[test]
fn of_twins_the_highest_epoch_counts() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    publish(
        &mut publisher,
        &[(7, 1, "old:1"), (7, 3, "new:1"), (7, 2, "mid:1")],
    );
    let snapshot = publisher.handle().load();
    assert_eq!(snapshot.len(), 1);
    assert_eq!(
        snapshot.members()[0].instance.addresses[0].to_string(),
        "new:1"
    );
}

#[test]
fn stale_is_marked_once_and_cleared() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    let handle = publisher.handle();
    publish(&mut publisher, &[(7, 1, "h:1")]);
    let facts = |handle: &SnapshotHandle| {
        let snapshot = handle.load();
        (snapshot.version(), snapshot.is_stale(), snapshot.len())
    };
    assert_eq!(facts(&handle), (1, false, 1));
    assert!(publisher.mark_stale());
    assert!(!publisher.mark_stale());
    assert_eq!(facts(&handle), (2, true, 1));
    assert!(publish(&mut publisher, &[(7, 1, "h:1")]).is_some());
    assert_eq!(facts(&handle), (3, false, 1));
}

#[test]
fn changes_name_what_came_changed_and_went() {
    let mut publisher = Publisher::new(ENDPOINT.parse().expect("id"));
    publish(
        &mut publisher,
        &[(1, 1, "h:1"), (2, 1, "h:2"), (3, 1, "h:3")],
    );
    let before = publisher.handle().load();
    publish(
        &mut publisher,
        &[(2, 1, "h:9"), (3, 1, "h:3"), (4, 1, "h:4")],
    );
    let after = publisher.handle().load();
    let changes = after.changes_since(&before);
    let ids = |members: &[Member]| {
        members
            .iter()
            .map(|member| member.instance.id.value())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (
            ids(&changes.added),
            ids(&changes.updated),
            ids(&changes.removed)
        ),
        (vec![4], vec![2], vec![1])
    );
    assert_eq!(after.changes_since(&after), Changes::default());
    assert!(after.find(InstanceId::new(1).expect("not zero")).is_none());
    assert_eq!(after.slots(), 3);
}
