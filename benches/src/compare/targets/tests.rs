use std::collections::BTreeMap;

use serde_json::json;

use super::{Against, TARGETS, Target, cells, fraction, judge};
use crate::results::{Results, Row};
use crate::workload::Workload;

fn row(system: &str, values: &[f64]) -> Row {
    let rep = |value: &f64| BTreeMap::from([("p50_us".to_owned(), *value)]);
    Row {
        workload: "cancel".to_owned(),
        system: system.to_owned(),
        params: BTreeMap::from([("idle".to_owned(), json!("park"))]),
        reps: values.iter().map(rep).collect(),
        work_clean: true,
        ..Row::default()
    }
}

fn target(against: Against) -> Target {
    Target {
        name: "t",
        workload: "cancel",
        ours: &[("idle", "park")],
        theirs: &[],
        figure: "p50_us",
        unit: "µs",
        against,
    }
}

fn results() -> Results {
    let mut broken = row("nats", &[1.0, 1.0]);
    broken.work_clean = false;
    Results {
        rows: vec![
            row("ringmain", &[8.0, 10.0]),
            row("tonic", &[20.0, 20.0]),
            row("dynamo_tcp", &[40.0, 50.0]),
            row("tokio_mux", &[5.0, 5.0]),
            broken,
        ],
        ..Results::default()
    }
}

#[test]
fn targets_are_judged_by_medians() {
    let results = results();
    for (against, met, measured) in [
        (Against::Times("tonic", 0.5), Some(true), "0.450x"),
        (Against::Times("tonic", 0.4), Some(false), "0.450x"),
        (Against::Times("velo", 0.4), None, "-"),
        // Neither what is no peer nor what failed is the best one.
        (Against::TimesBestPeer(0.46), Some(true), "0.450x"),
        (Against::Above("tokio_mux", 5.0), Some(true), "4.00 µs"),
        (Against::Above("tokio_mux", 3.0), Some(false), "4.00 µs"),
        (Against::AtMost(9.0), Some(true), "9.00 µs"),
        (Against::Reported, None, "9.00 µs"),
    ] {
        let verdict = judge(&results, &target(against));
        assert_eq!(
            (verdict.met, verdict.measured.as_str()),
            (met, measured),
            "{against:?}"
        );
    }
    let verdict = judge(&results, &target(Against::Times("tonic", 0.5)));
    assert_eq!(
        (verdict.bound.as_str(), verdict.range.as_str()),
        ("1/2 of tonic", "0.400..0.500")
    );
}

#[test]
fn a_row_that_did_other_work_meets_nothing() {
    let mut results = results();
    results.rows[0].work_clean = false;
    assert_eq!(
        judge(&results, &target(Against::AtMost(9.0))).met,
        Some(false)
    );
}

#[test]
fn every_target_is_about_a_workload_and_has_a_line_where_that_ran() {
    for target in TARGETS {
        assert!(Workload::find(target.workload).is_some(), "{}", target.name);
    }
    assert_eq!(cells(&Results::default()).lines.len(), 1);
    let cells = cells(&results());
    assert_eq!(cells.lines.len(), 2);
    assert_eq!(cells.lines[1][4], "not measured");
}

#[test]
fn bounds_are_read_as_people_write_them() {
    for (limit, text) in [
        (0.04, "1/25 of"),
        (1.0 / 3.0, "1/3 of"),
        (0.8, "0.8x"),
        (1.2, "1.2x"),
    ] {
        assert_eq!(fraction(limit), text);
    }
}
