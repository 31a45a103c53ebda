use std::collections::BTreeMap;

use serde_json::json;

use super::text;
use crate::results::{Results, Row};
use crate::workload::Workload;

fn row(system: &str, params: &[(&str, &str)], p50: &[f64]) -> Row {
    let params = params.iter();
    let rep = |value: &f64| BTreeMap::from([("p50_us".to_owned(), *value)]);
    Row {
        workload: "rtt".to_owned(),
        system: system.to_owned(),
        params: params
            .map(|&(name, value)| (name.to_owned(), json!(value)))
            .collect(),
        reps: p50.iter().map(rep).collect(),
        work_clean: true,
        ..Row::default()
    }
}

#[test]
fn a_table_names_what_differs_and_compares_with_the_floor() {
    let mut failed = row("ringmain", &[("idle", "park"), ("io", "uring")], &[]);
    failed.failures.push("repetition 1: it ended".to_owned());
    let spin = [("idle", "spin"), ("io", "uring")];
    let results = Results {
        rows: vec![
            row("tcp_spin", &[], &[10.0, 12.0, 11.0]),
            row("ringmain", &spin, &[13.0, 12.0, 13.2]),
            failed,
        ],
        ..Results::default()
    };
    let text = text(&results, Workload::Rtt);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].starts_with("rtt: ") && lines[1].ends_with("(io=uring)"),
        "{text}"
    );
    assert!(lines[2].starts_with("system    idle"), "{text}");
    assert!(
        lines[4].contains("11.0 (10.0..12.0)") && lines[4].ends_with("ok"),
        "{text}"
    );
    assert!(lines[5].contains("1.18x tcp_spin"), "{text}");
    assert!(lines[6].ends_with("FAILED"), "{text}");
    assert_eq!(lines[7], "! ringmain: repetition 1: it ended");
}

#[test]
fn others_stand_beside_a_step_with_their_one_item_per_turn() {
    let stream = |system: &str, kind: &str| Row {
        workload: "stream".to_owned(),
        ..row(system, &[("kind", kind)], &[1.0])
    };
    let results = Results {
        rows: vec![
            stream("ringmain", "yield"),
            stream("tonic", "yield"),
            stream("ringmain", "step"),
        ],
        ..Results::default()
    };
    let groups = crate::output::groups::groups(&results, Workload::Stream);
    let step = groups
        .iter()
        .find(|group| group.name == "kind=step")
        .unwrap();
    let systems: Vec<_> = step.rows.iter().map(|row| row.system.as_str()).collect();
    assert_eq!(systems, ["ringmain", "tonic"]);
}
