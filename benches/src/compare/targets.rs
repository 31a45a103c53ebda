//! The targets, held against a results file.

use crate::output::format::{number, times};
use crate::output::table::Cells;
use crate::results::{Results, Row};
use crate::stats::{Spread, ratio};
use crate::workload::is_peer;

mod list;

pub(crate) use self::list::TARGETS;

/// What a figure of ours is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Against {
    /// At most so many times the same figure of that system.
    Times(&'static str, f64),
    /// At most so many times the lowest figure of any peer.
    TimesBestPeer(f64),
    /// At most so much more than the same figure of that system.
    Above(&'static str, f64),
    /// At most so much.
    AtMost(f64),
    /// Shown, not judged.
    Reported,
}

/// One target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// What is judged, in words.
    pub(crate) name: &'static str,
    pub(crate) workload: &'static str,
    /// Which of our rows.
    pub(crate) ours: &'static [(&'static str, &'static str)],
    /// Which of their rows.
    pub(crate) theirs: &'static [(&'static str, &'static str)],
    pub(crate) figure: &'static str,
    /// The unit of a difference or a bound.
    pub(crate) unit: &'static str,
    pub(crate) against: Against,
}

/// What came of a target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// As text: the bound, what was measured, its range.
    pub(crate) bound: String,
    pub(crate) measured: String,
    pub(crate) range: String,
    /// `None` where it is not judged or was not measured.
    pub(crate) met: Option<bool>,
}

/// The verdict table, of those targets whose workload was run.
pub(crate) fn cells(results: &Results) -> Cells {
    let header = ["target", "at most", "measured", "range", "verdict"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    let ran = |target: &&Target| !results.rows_of(target.workload).is_empty();
    for target in TARGETS.iter().filter(ran) {
        let verdict = judge(results, target);
        let word = match (verdict.met, target.against, verdict.measured.as_str()) {
            (Some(true), ..) => "met",
            (Some(false), ..) => "not met",
            (None, _, "-") => "not measured",
            (None, ..) => "reported",
        };
        let cells = [
            target.name.to_owned(),
            verdict.bound,
            verdict.measured,
            verdict.range,
            word.to_owned(),
        ];
        lines.push(cells.to_vec());
    }
    Cells { lines, names: 1 }
}

/// Holds one target against results.
pub(crate) fn judge(results: &Results, target: &Target) -> Verdict {
    let ours = find(results, target, "ringmain", target.ours);
    let (bound, found, unit) = match target.against {
        Against::Times(system, limit) => {
            let theirs = find(results, target, system, target.theirs);
            let found = pair(ours, theirs, target.figure, ratio);
            (format!("{} {system}", fraction(limit)), found, None)
        }
        Against::TimesBestPeer(limit) => {
            let theirs = best_peer(results, target);
            let name = theirs.map_or("best peer", |row| row.system.as_str());
            let found = pair(ours, theirs, target.figure, ratio);
            (format!("{} {name}", fraction(limit)), found, None)
        }
        Against::Above(system, limit) => {
            let theirs = find(results, target, system, target.theirs);
            let found = pair(ours, theirs, target.figure, difference);
            let bound = format!("{} {} above {system}", number(limit), target.unit);
            (bound, found, Some(target.unit))
        }
        Against::AtMost(limit) => {
            let bound = format!("{} {}", number(limit), target.unit);
            (
                bound,
                ours.and_then(|row| row.spread(target.figure)),
                Some(target.unit),
            )
        }
        Against::Reported => {
            let found = ours.and_then(|row| row.spread(target.figure));
            ("-".to_owned(), found, Some(target.unit))
        }
    };
    let Some(found) = found else {
        return Verdict {
            bound,
            measured: "-".to_owned(),
            range: "-".to_owned(),
            met: None,
        };
    };
    let show = |value: f64| match unit {
        None => times(value),
        Some(unit) => format!("{} {unit}", number(value)),
    };
    // A row that did other work than asked meets nothing.
    let clean = ours.is_some_and(|row| row.work_clean);
    let met = match target.against {
        Against::Times(_, limit) | Against::TimesBestPeer(limit) => Some(found.median <= limit),
        Against::Above(_, limit) | Against::AtMost(limit) => Some(found.median <= limit),
        Against::Reported => None,
    };
    Verdict {
        bound,
        measured: show(found.median),
        range: match found.count {
            0 | 1 => "-".to_owned(),
            _ => format!("{}..{}", number(found.min), number(found.max)),
        },
        met: met.map(|met| met && clean),
    }
}

/// Our row or theirs: the first with those parameters.
fn find<'a>(
    results: &'a Results,
    target: &Target,
    system: &str,
    params: &[(&str, &str)],
) -> Option<&'a Row> {
    results.rows.iter().find(|row| {
        let has = |param: &(&str, &str)| row.param(param.0).as_deref() == Some(param.1);
        row.workload == target.workload && row.system == system && params.iter().all(has)
    })
}

fn best_peer<'a>(results: &'a Results, target: &Target) -> Option<&'a Row> {
    let median = |row: &Row| Some(row.spread(target.figure)?.median);
    let rows = results.rows.iter().filter(|row| {
        let has = |param: &(&str, &str)| row.param(param.0).as_deref() == Some(param.1);
        // A peer that failed is no yardstick.
        row.workload == target.workload
            && is_peer(&row.system)
            && row.work_clean
            && target.theirs.iter().all(has)
            && median(row).is_some()
    });
    rows.min_by(|a, b| {
        median(a)
            .unwrap_or(f64::MAX)
            .total_cmp(&median(b).unwrap_or(f64::MAX))
    })
}

fn pair(
    ours: Option<&Row>,
    theirs: Option<&Row>,
    figure: &str,
    compare: fn(&[f64], &[f64]) -> Option<Spread>,
) -> Option<Spread> {
    compare(&ours?.values(figure), &theirs?.values(figure))
}

/// The spread of ours less theirs, repetition by repetition.
fn difference(ours: &[f64], theirs: &[f64]) -> Option<Spread> {
    Spread::of(ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs))
}

/// `0.04` as `1/25`, `1.2` as `1.2x`.
fn fraction(limit: f64) -> String {
    let whole = (1.0 / limit).round();
    if limit < 0.6 && (1.0 / limit - whole).abs() < 1e-6 {
        return format!("1/{whole} of");
    }
    format!("{limit}x")
}

#[cfg(test)]
mod tests;
