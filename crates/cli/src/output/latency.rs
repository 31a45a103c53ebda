//! Latency distributions as they are collected and shown.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Latencies from 1 µs to 1 hour at three significant digits.
#[derive(Clone, Debug)]
pub(crate) struct Latency(Histogram<u64>);

const MAX_US: u64 = 3_600_000_000;

impl Latency {
    pub(crate) fn new() -> Self {
        let Ok(histogram) = Histogram::new_with_bounds(1, MAX_US, 3) else {
            unreachable!("the bounds are constants that the histogram takes")
        };
        Self(histogram)
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.0.saturating_record(us.clamp(1, MAX_US));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Ok(()) = self.0.add(&other.0) else {
            unreachable!("both have the same bounds")
        };
    }

    pub(crate) fn json(&self) -> LatencyJson {
        LatencyJson {
            p50: self.0.value_at_quantile(0.5),
            p99: self.0.value_at_quantile(0.99),
            p999: self.0.value_at_quantile(0.999),
            max: self.0.max(),
        }
    }
}

/// Percentiles in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct LatencyJson {
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_percentiles_cover_both() {
        let (mut a, mut b) = (Latency::new(), Latency::new());
        for ms in 1..=50 {
            a.record(Duration::from_millis(ms));
            b.record(Duration::from_millis(ms + 50));
        }
        a.merge(&b);
        let json = a.json();
        assert_eq!(a.0.len(), 100);
        assert!((49_900..=50_100).contains(&json.p50), "{json:?}");
        assert!((98_900..=99_200).contains(&json.p99), "{json:?}");
        assert!(json.max >= 100_000);
    }

    #[test]
    fn out_of_range_values_are_clamped() {
        let mut latency = Latency::new();
        latency.record(Duration::ZERO);
        latency.record(Duration::from_secs(10_000));
        assert_eq!(latency.0.len(), 2);
    }
}
