//! Positions on the two axes of a percentile chart.

/// Latency on a logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Log {
    low: f64,
    high: f64,
}

impl Log {
    /// An axis that holds `low..=high`, both above zero.
    pub(super) fn new(low: f64, high: f64) -> Self {
        let low = low.max(1e-3);
        let high = high.max(low * 2.0);
        Self {
            low: below(low),
            high: above(high),
        }
    }

    /// From 0 at the low end to 1 at the high end.
    pub(super) fn at(self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        share.clamp(0.0, 1.0)
    }

    /// Round values along the axis.
    pub(super) fn ticks(self) -> Vec<f64> {
        let wide = self.high / self.low > 1100.0;
        let steps: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut ticks = Vec::new();
        let mut decade = 10_f64.powf(self.low.log10().floor());
        while decade <= self.high * 1.001 {
            let round = steps.iter().map(|step| step * decade);
            ticks.extend(
                round.filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001),
            );
            decade *= 10.0;
        }
        ticks
    }
}

/// The next round value at or below.
fn below(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let steps = [5.0, 2.0, 1.0];
    let found = steps
        .iter()
        .find(|step| *step * decade <= value * 1.000_001);
    decade * found.unwrap_or(&1.0)
}

/// The next round value at or above.
fn above(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let found = steps
        .iter()
        .find(|step| *step * decade >= value * 0.999_999);
    decade * found.unwrap_or(&10.0)
}

/// Percentiles, spread so that each further nine takes the same room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nines {
    nines: f64,
}

impl Nines {
    /// An axis that shows what `count` values can tell.
    pub(super) fn new(count: u64) -> Self {
        let nines = ringmain_bench_harness::float(count.max(100)).log10();
        Self {
            nines: nines.min(6.0),
        }
    }

    /// From 0 at 0 % to 1 at the last percentile shown.
    pub(super) fn at(self, quantile: f64) -> f64 {
        let nines = -(1.0 - quantile).max(1e-12).log10();
        (nines / self.nines).clamp(0.0, 1.0)
    }

    /// Percentiles that people know, and their names.
    pub(super) fn ticks(self) -> Vec<(f64, &'static str)> {
        let all = [
            (0.0, "0%"),
            (0.5, "50%"),
            (0.9, "90%"),
            (0.99, "99%"),
            (0.999, "99.9%"),
            (0.9999, "99.99%"),
            (0.99999, "99.999%"),
            (0.999_999, "99.9999%"),
        ];
        let shown = |tick: &(f64, &str)| -(1.0 - tick.0).log10() <= self.nines + 1e-9;
        all.into_iter().filter(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Log, Nines};

    #[test]
    fn a_logarithmic_axis_ends_at_round_values() {
        let axis = Log::new(23.0, 480.0);
        assert_eq!(axis.ticks(), [20.0, 50.0, 100.0, 200.0, 500.0]);
        assert!((axis.at(100.0) - 0.5).abs() < 1e-9);
        assert_eq!(axis.at(1.0), 0.0);
        assert_eq!(axis.at(1e9), 1.0);
        assert_eq!(Log::new(1.0, 90_000.0).ticks().len(), 6);
    }

    #[test]
    fn each_nine_takes_the_same_room() {
        let axis = Nines::new(10_000);
        assert!((axis.at(0.9) - 0.25).abs() < 1e-9);
        assert!((axis.at(0.99) - 0.5).abs() < 1e-9);
        assert_eq!(axis.at(1.0), 1.0);
        assert_eq!(axis.ticks().last(), Some(&(0.9999, "99.99%")));
    }
}
