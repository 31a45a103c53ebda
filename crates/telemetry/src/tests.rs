use std::{collections::HashSet, thread};

use super::*;

fn descriptors() -> impl Iterator<Item = &'static Descriptor> {
    let counters = Counter::ALL.iter().map(|counter| counter.descriptor());
    counters.chain(Gauge::ALL.iter().map(|gauge| gauge.descriptor()))
}

#[test]
fn names_follow_the_rules_of_the_exposition_format() {
    for descriptor in descriptors() {
        let name = descriptor.name;
        assert!(name.starts_with("ringmain_"), "{name}");
        let legal = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(name.bytes().all(legal), "{name}");
        assert_eq!(
            name.ends_with("_total"),
            descriptor.kind == Kind::Counter,
            "{name}"
        );
        let stem = name.trim_end_matches("_total");
        assert!(
            stem.ends_with(descriptor.unit.shown()),
            "{name} does not end in its unit"
        );
        for foreign in ["_ms", "_us", "_micros", "_percent"] {
            assert!(!stem.ends_with(foreign), "{name}");
        }
        assert!(
            descriptor.help.ends_with('.') && descriptor.help.len() > 10,
            "{name}"
        );
    }
}

#[test]
fn families_are_contiguous_consistent_and_without_twins() {
    let mut seen = HashSet::new();
    let mut finished = HashSet::new();
    let mut previous: Option<&Descriptor> = None;
    for descriptor in descriptors() {
        assert!(
            seen.insert((descriptor.name, descriptor.label)),
            "{} twice",
            descriptor.name
        );
        if let Some(before) = previous.filter(|before| before.name != descriptor.name) {
            finished.insert(before.name);
        }
        assert!(
            !finished.contains(descriptor.name),
            "{} is scattered",
            descriptor.name
        );
        if let Some(before) = previous.filter(|before| before.name == descriptor.name) {
            assert_eq!(before.help, descriptor.help);
            assert_eq!(before.unit, descriptor.unit);
            assert!(before.label.is_some() && descriptor.label.is_some());
        }
        previous = Some(descriptor);
    }
}

#[test]
fn indices_match_positions() {
    assert!(
        Counter::ALL
            .iter()
            .enumerate()
            .all(|(at, counter)| counter.index() == at)
    );
    assert!(
        Gauge::ALL
            .iter()
            .enumerate()
            .all(|(at, gauge)| gauge.index() == at)
    );
}

#[test]
fn shards_and_process_add_up() {
    let telemetry = Telemetry::new(2);
    telemetry.shard(0).inc(Counter::Turns);
    telemetry.shard(1).add(Counter::Turns, 10);
    telemetry.process().add(Counter::Turns, 100);
    assert_eq!(telemetry.counter_total(Counter::Turns), 111);
    assert_eq!(telemetry.shard(1).counter(Counter::Turns), 10);
    assert_eq!(telemetry.process().counter(Counter::Turns), 100);
    assert_eq!(telemetry.counter_total(Counter::Sends), 0);

    let snapshot = telemetry.snapshot();
    assert_eq!(snapshot.counter(Counter::Turns), 111);
    let turns = Counter::Turns.descriptor();
    let samples: Vec<_> = snapshot
        .samples()
        .filter(|sample| sample.descriptor == turns)
        .collect();
    let values: Vec<_> = samples
        .iter()
        .map(|sample| (sample.origin, sample.value))
        .collect();
    assert_eq!(
        values,
        [
            (Origin::Shard(0), 1),
            (Origin::Shard(1), 10),
            (Origin::Process, 100)
        ]
    );
    let totals: Vec<_> = snapshot.totals().collect();
    assert_eq!(totals.len(), Counter::COUNT + Gauge::COUNT);
    assert_eq!(totals[Counter::Turns.index()].value, 111);
}

#[test]
fn gauges_sum_or_take_the_largest_and_return_to_zero() {
    let telemetry = Telemetry::new(2);
    for shard in 0..2 {
        let cells = telemetry.shard(shard);
        cells.gauge_add(Gauge::LinksOpen, 3);
        cells.gauge_max(Gauge::TurnUsMax, 10 * (shard as u64 + 1));
        cells.gauge_max(Gauge::TurnUsMax, 5);
    }
    telemetry.process().gauge_max(Gauge::TurnUsMax, 7);
    telemetry.process().gauge_add(Gauge::LinksOpen, 1);
    assert_eq!(telemetry.gauge_total(Gauge::LinksOpen), 7);
    assert_eq!(telemetry.gauge_total(Gauge::TurnUsMax), 20);
    assert_eq!(telemetry.snapshot().gauge(Gauge::TurnUsMax), 20);
    for shard in 0..2 {
        telemetry.shard(shard).gauge_sub(Gauge::LinksOpen, 3);
    }
    telemetry.process().gauge_sub(Gauge::LinksOpen, 1);
    assert_eq!(telemetry.gauge_total(Gauge::LinksOpen), 0);
    telemetry.shard(1).set(Gauge::StreamsOpen, 4);
    assert_eq!(telemetry.shard(1).gauge(Gauge::StreamsOpen), 4);
}

#[test]
fn process_cells_take_many_writers() {
    let telemetry = Telemetry::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    telemetry.process().inc(Counter::SnapshotsPublished);
                    telemetry.process().gauge_add(Gauge::SnapshotsStale, 1);
                    telemetry.process().gauge_sub(Gauge::SnapshotsStale, 1);
                }
            });
        }
    });
    assert_eq!(telemetry.counter_total(Counter::SnapshotsPublished), 4_000);
    assert_eq!(telemetry.gauge_total(Gauge::SnapshotsStale), 0);
}

#[test]
fn shards_share_no_cache_line() {
    assert!(align_of::<ShardCells>() >= 64);
    assert_eq!(size_of::<ShardCells>() % align_of::<ShardCells>(), 0);
}
