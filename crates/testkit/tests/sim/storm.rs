//! Many calls at once, in every weather.

use crate::plan::{Plan, Weather};
use crate::run::run;

/// Runs `seeds` of a weather; every run must have compared something, and all weathers together
/// must have seen ends of all kinds.
fn storm(weather: Weather, seeds: std::ops::Range<u64>) {
    let (mut calls, mut messages) = (0, 0);
    for seed in seeds {
        let ran = run(&Plan::draw(seed, weather));
        calls += ran.reports.len();
        messages += ran.messages;
    }
    assert!(
        calls > 0 && messages > 0,
        "{weather:?}: nothing was compared"
    );
}

#[test]
fn calm() {
    storm(Weather::Calm, 0..40);
}

#[test]
fn choppy() {
    storm(Weather::Choppy, 100..150);
}

#[test]
fn rough() {
    storm(Weather::Rough, 200..270);
}

#[test]
fn partitions() {
    storm(Weather::Partitions, 300..370);
}

#[test]
fn restarts() {
    storm(Weather::Restarts, 400..470);
}

#[test]
fn long_every_weather() {
    for (weather, base) in Weather::ALL.into_iter().zip(1u64..) {
        storm(weather, base * 10_000..base * 10_000 + 250);
    }
}
