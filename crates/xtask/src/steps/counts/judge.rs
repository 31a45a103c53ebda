use std::fmt::Write as _;

use super::Counts;
use super::baseline::Baseline;

/// How far a count may rise above its baseline. Counts of the same program are equal from run to
/// run; this is room for what a change elsewhere does to how the compiler lays code out.
pub(super) const TOLERANCE_PERCENT: f64 = 3.0;

/// What counts are against a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Old, new and ratio, for people.
    pub(super) table: String,
    /// Why this is not as it should be, one text per benchmark.
    pub(super) faults: Vec<String>,
    /// Benchmarks whose baseline could be lowered.
    pub(super) better: Vec<String>,
}

pub(super) fn judge(baseline: &Baseline, counts: &Counts) -> Verdict {
    let mut verdict = Verdict::default();
    verdict.row("instructions per operation", "old", "new", "ratio");
    for (name, new) in counts {
        let Some(old) = baseline.instructions.get(name) else {
            verdict.row(name, "-", &format!("{new:.1}"), "new");
            verdict.faults.push(format!("{name} has no baseline"));
            continue;
        };
        let ratio = new / old;
        let mut shown = format!("{ratio:.3}");
        if ratio > 1.0 + TOLERANCE_PERCENT / 100.0 {
            shown.push_str("  WORSE");
            let percent = (ratio - 1.0) * 100.0;
            verdict.faults.push(format!(
                "{name} takes {new:.1} instructions instead of {old:.1} (+{percent:.1} %)"
            ));
        } else if ratio < 1.0 - TOLERANCE_PERCENT / 100.0 {
            shown.push_str("  better");
            verdict.better.push(name.clone());
        }
        verdict.row(name, &format!("{old:.1}"), &format!("{new:.1}"), &shown);
    }
    for (name, old) in &baseline.instructions {
        if counts.iter().all(|(counted, _)| counted != name) {
            verdict.row(name, &format!("{old:.1}"), "-", "gone");
            verdict
                .faults
                .push(format!("{name} is in the baseline but was not counted"));
        }
    }
    verdict
}

impl Verdict {
    fn row(&mut self, name: &str, old: &str, new: &str, ratio: &str) {
        // Writing to a String cannot fail.
        writeln!(self.table, "{name:<32} {old:>9} {new:>9}  {ratio}").unwrap_or_default();
    }
}
