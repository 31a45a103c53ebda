use std::num::NonZeroU64;

use super::*;
use crate::CpuQuota;

fn allowed(cpus: &str, quota_hundredths: Option<u64>) -> Allowed {
    let period = NonZeroU64::new(100_000).expect("not zero");
    let quota = quota_hundredths.map(|hundredths| CpuQuota::new(hundredths * 1_000, period));
    Allowed {
        cpus: cpus.parse().expect(cpus),
        quota,
    }
}

type Case = (
    &'static str,
    Option<u64>,
    &'static str,
    &'static str,
    &'static str,
);

const CASES: &[Case] = &[
    (
        "0-1",
        None,
        "auto",
        "auto",
        "shards=2 pinned=0,1 allowed=0-1 quota=none",
    ),
    (
        "4-7",
        None,
        "auto",
        "auto",
        "shards=4 pinned=4,5,6,7 allowed=4-7 quota=none",
    ),
    (
        "3,9",
        None,
        "1",
        "auto",
        "shards=1 pinned=3 allowed=3,9 quota=none",
    ),
    (
        "3,9",
        None,
        "auto",
        "off",
        "shards=2 pinned=no (off) allowed=3,9 quota=none",
    ),
    (
        "0-1",
        None,
        "3",
        "auto",
        "shards=3 pinned=no (more shards than CPUs) allowed=0-1 quota=none",
    ),
    (
        "",
        None,
        "auto",
        "auto",
        "shards=1 pinned=no (more shards than CPUs) allowed=- quota=none",
    ),
    (
        "0-1",
        Some(800),
        "auto",
        "auto",
        "shards=2 pinned=0,1 allowed=0-1 quota=8.00",
    ),
    (
        "2",
        Some(50),
        "auto",
        "auto",
        "shards=1 pinned=2 allowed=2 quota=0.50",
    ),
    (
        "0-63",
        Some(200),
        "auto",
        "auto",
        "shards=2 pinned=no (quota below the CPU set) allowed=0-63 quota=2.00",
    ),
    (
        "0-63",
        Some(200),
        "8",
        "auto",
        "shards=8 pinned=no (quota below the CPU set) allowed=0-63 quota=2.00",
    ),
    (
        "0-3",
        Some(199),
        "auto",
        "auto",
        "shards=1 pinned=no (quota below the CPU set) allowed=0-3 quota=1.99",
    ),
    (
        "0-3",
        Some(10),
        "auto",
        "auto",
        "shards=1 pinned=no (quota below the CPU set) allowed=0-3 quota=0.10",
    ),
];

#[test]
fn plans_follow_cpu_set_and_quota() {
    for &(cpus, quota, shards, pinning, expect) in CASES {
        let allowed = allowed(cpus, quota);
        let shards = shards.parse().expect("a count");
        let plan = CorePlan::new(&allowed, shards, pinning.parse().expect("a mode"));
        assert_eq!(plan.describe(), expect);
        let pins: Vec<_> = (0..plan.shards().get())
            .filter_map(|shard| plan.cpu(shard))
            .collect();
        assert!(
            pins.iter().all(|&cpu| allowed.cpus.contains(cpu)),
            "{expect}"
        );
        assert!(
            pins.is_empty() || pins.len() == plan.shards().get(),
            "{expect}"
        );
        assert_eq!(plan.cpu(plan.shards().get()), None);
    }
}

#[test]
fn settings_are_parsed_strictly() {
    for text in ["auto", "1", "64"] {
        assert_eq!(text.parse::<ShardCount>().expect(text).to_string(), text);
    }
    for text in ["", "0", "-1", "Auto", "1.5", "two"] {
        assert_eq!(
            text.parse::<ShardCount>(),
            Err(ParseShardCountError),
            "{text}"
        );
    }
    for text in ["auto", "off"] {
        assert_eq!(text.parse::<Pinning>().expect(text).to_string(), text);
    }
    assert_eq!("on".parse::<Pinning>(), Err(ParsePinningError));
}
