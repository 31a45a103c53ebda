//! What one repetition found.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The figures of one repetition.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rep {
    /// Figures by name; a figure that was not taken is absent.
    pub figures: BTreeMap<String, f64>,
    /// Histograms by name: (nanoseconds, count) of each occupied bucket.
    pub histograms: BTreeMap<String, Vec<(u64, u64)>>,
    /// The first few reasons why calls failed.
    pub failures: Vec<String>,
}

impl Rep {
    /// Sets a figure.
    pub fn set(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.figures.insert(name.to_owned(), value);
        }
    }

    /// Sets the percentiles of a histogram, in microseconds, and keeps its buckets.
    pub fn set_histogram(&mut self, name: &str, histogram: &Histogram<u64>) {
        if histogram.is_empty() {
            return;
        }
        let prefix = match name {
            "latency" => String::new(),
            other => format!("{other}_"),
        };
        for (figure, quantile) in [
            ("p50_us", 0.5),
            ("p90_us", 0.9),
            ("p99_us", 0.99),
            ("p999_us", 0.999),
        ] {
            let value = histogram.value_at_quantile(quantile);
            self.set(&format!("{prefix}{figure}"), micros(value));
        }
        self.set(&format!("{prefix}max_us"), micros(histogram.max()));
        let buckets = histogram.iter_recorded();
        let buckets = buckets.map(|b| (b.value_iterated_to(), b.count_at_value()));
        self.histograms.insert(name.to_owned(), buckets.collect());
    }
}

fn micros(ns: u64) -> f64 {
    float(ns) / 1000.0
}

/// A count as a figure; exact below 2^53.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub const fn float(count: u64) -> f64 {
    count as f64
}
