//! Many calls at once, in every weather.

use std::collections::BTreeSet;
use std::ops::Range;

use ringmain_testkit::sim::{Fate, Report};

use crate::plan::{Plan, Weather};
use crate::run::run;

/// Ends that calls meet in any weather, by their own doing.
const ANY_WEATHER: &[&str] = &[
    "ok",
    "cancelled",
    "killed",
    "deadline_exceeded",
    "application",
    "handler_panicked",
    "dropped",
];
const CHOPPY: &[&str] = &["abandoned"];
const TIGHT: &[&str] = &[
    "abandoned",
    "overloaded",
    "too_large",
    "refused: overloaded no",
];
const BROKEN: &[&str] = &["connection_lost", "peer_unresponsive"];
const PARTED: &[&str] = &[
    "abandoned",
    "peer_unresponsive",
    "refused: connection_lost no",
];
const RESTARTED: &[&str] = &["connection_lost", "refused: connection_lost no"];

/// Runs seeds of a weather. All together must have compared messages, and met each of `ends`: a
/// plan that never gets there tests nothing.
fn storm(weather: Weather, seeds: Range<u64>, ends: &[&str]) {
    let mut messages = 0;
    let mut met = BTreeSet::new();
    for seed in seeds {
        let ran = run(&Plan::draw(seed, weather));
        messages += ran.messages;
        met.extend(ran.reports.iter().map(end_of));
    }
    assert!(
        messages > 1_000,
        "{weather:?}: {messages} messages compared"
    );
    let wanted = ends.iter().chain(ANY_WEATHER);
    let missed: Vec<_> = wanted.filter(|end| !met.contains(**end)).collect();
    assert!(
        missed.is_empty(),
        "{weather:?}: no call ended so: {missed:?} of {met:?}"
    );
}

fn end_of(report: &Report) -> String {
    match &report.fate {
        Fate::Abandoned => "abandoned".to_owned(),
        Fate::Dropped => "dropped".to_owned(),
        Fate::Refused(error) => format!("refused: {} {}", error.status(), error.started()),
        Fate::Ended { status, .. } => status.to_string(),
    }
}

#[test]
fn calm() {
    storm(Weather::Calm, 0..40, &[]);
}

#[test]
fn choppy() {
    storm(Weather::Choppy, 100..150, CHOPPY);
}

#[test]
fn tight() {
    storm(Weather::Tight, 500..600, TIGHT);
}

#[test]
fn rough() {
    storm(Weather::Rough, 200..260, BROKEN);
}

#[test]
fn partitions() {
    storm(Weather::Partitions, 300..360, PARTED);
}

#[test]
fn restarts() {
    storm(Weather::Restarts, 400..460, RESTARTED);
}

#[test]
fn long_every_weather() {
    for (weather, base) in Weather::ALL.into_iter().zip(1u64..) {
        storm(weather, base * 10_000..base * 10_000 + 400, &[]);
    }
}
