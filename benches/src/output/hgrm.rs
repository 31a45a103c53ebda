//! HdrHistogram percentile files: written for each row, read back for the page.

use std::fmt::Write;

use hdrhistogram::Histogram;

/// Lines for each halving of the distance to 100 %.
const TICKS: u32 = 5;

/// A distribution as points: the share of values at or below, and microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    pub(crate) points: Vec<(f64, f64)>,
    /// How many values there are.
    pub(crate) count: u64,
}

/// The text of a `.hgrm` file, values in microseconds. `histogram` is in nanoseconds.
pub(crate) fn text(histogram: &Histogram<u64>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _written = write(&mut out, histogram).is_ok();
    out
}

fn write(out: &mut String, histogram: &Histogram<u64>) -> std::fmt::Result {
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut total = 0;
    for step in histogram.iter_quantiles(TICKS) {
        total += step.count_since_last_iteration();
        let value = micros(step.value_iterated_to());
        let quantile = step.quantile_iterated_to();
        write!(out, "{value:12.3} {quantile:.12} {total:10}")?;
        if quantile < 1.0 {
            write!(out, " {:14.2}", 1.0 / (1.0 - quantile))?;
        }
        out.push('\n');
    }
    writeln!(
        out,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]",
        histogram.mean() / 1000.0,
        histogram.stdev() / 1000.0
    )?;
    writeln!(
        out,
        "#[Max     = {:12.3}, Total count    = {:12}]",
        micros(histogram.max()),
        histogram.len()
    )?;
    writeln!(
        out,
        "#[Buckets = {:12}, SubBuckets     = {:12}]",
        histogram.buckets(),
        histogram.distinct_values() / usize::from(histogram.buckets()).max(1)
    )
}

/// Reads the points of a `.hgrm` file; lines that are none are passed over.
pub(crate) fn parse(text: &str) -> Curve {
    let mut curve = Curve::default();
    for line in text.lines() {
        if let Some((value, quantile, count)) = point(line) {
            curve.points.push((quantile, value));
            curve.count = curve.count.max(count);
        }
    }
    curve
}

/// Value, quantile, values at or below.
fn point(line: &str) -> Option<(f64, f64, u64)> {
    let mut fields = line.split_whitespace();
    let value = fields.next()?.parse().ok()?;
    let quantile = fields.next()?.parse().ok()?;
    let count = fields.next()?.parse().ok()?;
    Some((value, quantile, count))
}

fn micros(ns: u64) -> f64 {
    ringmain_bench_harness::float(ns) / 1000.0
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::{parse, text};

    fn histogram() -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 1_000_000_000, 3).unwrap();
        for us in 1..=1000 {
            histogram.record(us * 1000).unwrap();
        }
        histogram
    }

    #[test]
    fn a_file_has_the_common_form() {
        let text = text(&histogram());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("TotalCount 1/(1-Percentile)"), "{text}");
        assert_eq!(lines[1], "");
        let first: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(first[1..], ["0.000000000000", "1", "1.00"]);
        let last = lines.iter().rfind(|line| !line.starts_with('#')).unwrap();
        let last: Vec<&str> = last.split_whitespace().collect();
        assert_eq!(last[1..], ["1.000000000000", "1000"]);
        assert!(
            text.contains("#[Mean    =      500.") && text.contains("= "),
            "{text}"
        );
        assert!(text.contains("Total count    =         1000]"), "{text}");
    }

    #[test]
    fn what_is_written_reads_back() {
        let curve = parse(&text(&histogram()));
        assert_eq!(curve.count, 1000);
        let median = curve.points.iter().find(|point| point.0 >= 0.5).unwrap();
        assert!((499.0..=502.0).contains(&median.1), "{median:?}");
        assert!(curve.points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
        assert_eq!(parse("nothing here\n1 2\n"), super::Curve::default());
    }
}
