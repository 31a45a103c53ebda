use clap::Parser;
use ringmain_bench_harness::{Load, PlanKind};

use super::{Settings, Workload, is_peer};
use crate::args::{Io, RunArgs};

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    run: RunArgs,
}

fn settings(flags: &[&str]) -> Settings {
    let flags = ["bench"].iter().chain(flags);
    Settings::new(&Flags::parse_from(flags).run, Io::Uring)
}

#[test]
fn every_workload_has_rows_that_differ() {
    for flags in [&[][..], &["--quick"][..]] {
        let settings = settings(flags);
        for workload in Workload::ALL {
            let specs = workload.specs(&settings, None);
            assert!(!specs.is_empty(), "{workload:?}");
            for (index, spec) in specs.iter().enumerate() {
                let same = |other: &&super::Spec| {
                    other.system == spec.system && other.params == spec.params
                };
                assert!(specs[..index].iter().all(|other| !same(&other)), "{spec:?}");
            }
        }
    }
}

#[test]
fn flags_override_plans_and_name_it_in_params() {
    let settings = settings(&[
        "--item-bytes",
        "256",
        "--streams",
        "8",
        "--items",
        "4",
        "--io",
        "uring,epoll",
        "--idle",
        "adaptive",
        "--spin-us",
        "70",
        "--window",
        "40ms",
        "--warm-up",
        "20ms",
    ]);
    let specs = Workload::Stream.specs(&settings, None);
    // Three kinds, two homes, two drivers.
    assert_eq!(specs.len(), 12);
    let spec = &specs[0];
    assert_eq!(
        (spec.plan.item_bytes, spec.plan.streams, spec.plan.items),
        (256, 8, 4)
    );
    assert_eq!((spec.plan.warm_up_ms, spec.plan.window_ms), (20, 40));
    assert!(
        spec.serve.contains(&"spin_us=70".to_owned()),
        "{:?}",
        spec.serve
    );
    assert_eq!(spec.params["item_bytes"], 256);
    assert_eq!(spec.params["idle"], "adaptive");
}

#[test]
fn rows_that_flags_make_equal_are_one_row() {
    let specs = Workload::Rtt.specs(&settings(&["--idle", "park", "--home", "local"]), None);
    let ours = specs.iter().filter(|spec| spec.system.name == "ringmain");
    assert_eq!(ours.count(), 1);
    let paced = Workload::Paced.specs(&settings(&["--streams", "10", "--interval", "5ms"]), None);
    let ours = paced.iter().filter(|spec| spec.system.name == "ringmain");
    assert_eq!(ours.count(), 1);
}

#[test]
fn paced_streams_are_open_before_the_window() {
    let specs = Workload::Paced.specs(&settings(&["--warm-up", "1s"]), None);
    let many = specs
        .iter()
        .find(|spec| spec.plan.streams == 10_000)
        .unwrap();
    assert_eq!(many.plan.load, Load::Paced);
    assert!(many.plan.warm_up_ms >= 1500, "{}", many.plan.warm_up_ms);
}

#[test]
fn peers_take_part_when_named_and_step_at_their_own_way() {
    let none = Workload::Step.specs(&settings(&[]), None);
    let peers = none.iter().filter(|spec| is_peer(spec.system.name));
    assert_eq!(peers.count(), 0);
    let named = Workload::Step.specs(&settings(&["--systems", "ringmain,tonic"]), None);
    let tonic: Vec<_> = named
        .iter()
        .filter(|spec| spec.system.name == "tonic")
        .collect();
    assert_eq!(tonic.len(), 1);
    assert_eq!(tonic[0].plan.kind, PlanKind::Grid);
}
