//! Medians and ranges of a few repetitions.

/// The middle of some values and their bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// How many values there were.
    pub(crate) count: usize,
}

impl Spread {
    /// The spread of `values`; `None` if there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Self {
            median,
            min,
            max,
            count: values.len(),
        })
    }

    /// All of it in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            min: self.min * factor,
            max: self.max * factor,
            count: self.count,
        }
    }
}

/// The spread of ours over theirs. Repetitions are interleaved, so each is compared with the one
/// that ran beside it; the median is that of the medians.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> Option<Spread> {
    let pairs = ours.iter().zip(theirs);
    let pairs = Spread::of(pairs.map(|(ours, theirs)| ours / theirs))?;
    let median =
        Spread::of(ours.iter().copied())?.median / Spread::of(theirs.iter().copied())?.median;
    Some(Spread {
        median,
        min: pairs.min.min(median),
        max: pairs.max.max(median),
        count: pairs.count,
    })
}

/// A count as a figure; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) const fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::{Spread, ratio};

    fn spread(median: f64, min: f64, max: f64, count: usize) -> Spread {
        Spread {
            median,
            min,
            max,
            count,
        }
    }

    #[test]
    fn medians_and_ranges() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0]), Some(spread(3.0, 3.0, 3.0, 1)));
        assert_eq!(Spread::of([9.0, 1.0, 2.0]), Some(spread(2.0, 1.0, 9.0, 3)));
        assert_eq!(
            Spread::of([4.0, 1.0, 2.0, 9.0]),
            Some(spread(3.0, 1.0, 9.0, 4))
        );
        assert_eq!(
            spread(2.0, 1.0, 4.0, 3).times(0.5),
            spread(1.0, 0.5, 2.0, 3)
        );
    }

    #[test]
    fn ratios_pair_repetitions_that_ran_side_by_side() {
        let found = ratio(&[10.0, 20.0, 30.0], &[10.0, 40.0, 30.0]);
        assert_eq!(found, Some(spread(20.0 / 30.0, 0.5, 1.0, 3)));
        assert_eq!(ratio(&[], &[1.0]), None);
    }
}
