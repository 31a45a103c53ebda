//! Tables of a workload's rows.

use super::columns::{Column, columns, counted};
use super::format::{number, times};
use super::grid;
use super::groups::{Group, groups};
use crate::results::{Results, Row};
use crate::stats::Spread;
use crate::workload::Workload;

/// Cells of a table: the first line is the header; how many columns are names; what failed.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    pub(crate) lines: Vec<Vec<String>>,
    pub(crate) names: usize,
}

/// All tables of a workload, as text.
pub(crate) fn text(results: &Results, workload: Workload) -> String {
    let mut text = String::new();
    for group in groups(results, workload) {
        text.push_str(&format!("\n{}\n", group.title()));
        let cells = cells(&group, columns(workload.name()), true);
        text.push_str(&grid::render(&cells.lines, cells.names));
        if let Some(cells) = counted_cells(&group) {
            text.push_str("counted in a repetition of its own:\n");
            text.push_str(&grid::render(&cells.lines, cells.names));
        }
        for row in &group.rows {
            for failure in &row.failures {
                text.push_str(&format!("! {}: {failure}\n", row.system));
            }
        }
    }
    text
}

/// The cells of a group: names, figures, multiples of the reference, and whether the work was
/// right.
pub(crate) fn cells(group: &Group<'_>, all: &[Column], with_work: bool) -> Cells {
    let varying = group.varying();
    let shown: Vec<Column> = all.iter().copied().filter(|c| any(group, *c)).collect();
    let compared = |column: &&Column| {
        let mut rows = group.rows.iter();
        column.ratio && rows.any(|row| group.ratio(row, **column).is_some())
    };
    let ratios: Vec<Column> = shown.iter().filter(compared).copied().collect();
    let mut header = vec!["system".to_owned()];
    header.extend(varying.iter().map(|&param| param.to_owned()));
    header.extend(shown.iter().map(|column| column.title.to_owned()));
    header.extend(ratios.iter().map(|column| multiple_title(column.title)));
    if with_work {
        header.push("work".to_owned());
    }
    let mut lines = vec![header];
    for row in &group.rows {
        let mut line = vec![row.system.clone()];
        let value = |param: &&str| row.param(param).unwrap_or_else(|| "-".to_owned());
        line.extend(varying.iter().map(value));
        line.extend(shown.iter().map(|column| figure(row, *column)));
        line.extend(ratios.iter().map(|column| multiple(group, row, *column)));
        if with_work {
            line.push(work(row).to_owned());
        }
        lines.push(line);
    }
    Cells {
        lines,
        names: 1 + varying.len(),
    }
}

/// What was counted per item, if anything was.
pub(crate) fn counted_cells(group: &Group<'_>) -> Option<Cells> {
    let was_counted = group.rows.iter().any(|row| row.traced.is_some());
    was_counted.then(|| cells(group, counted(), false))
}

fn any(group: &Group<'_>, column: Column) -> bool {
    let mut rows = group.rows.iter();
    rows.any(|row| row.spread(column.figure).is_some())
}

/// A title without its unit: a multiple has none.
fn multiple_title(title: &str) -> String {
    let name = title.split_once(" µs").or_else(|| title.split_once(" ns"));
    format!("{}, multiple of", name.map_or(title, |(name, _)| name))
}

fn figure(row: &Row, column: Column) -> String {
    match row.spread(column.figure) {
        Some(spread) if column.whole => format!("{:.0}", spread.median),
        Some(spread) => spread_text(spread.times(column.scale), column.key),
        None => "-".to_owned(),
    }
}

/// The median, and the range where it says something.
pub(crate) fn spread_text(spread: Spread, with_range: bool) -> String {
    let (low, high) = (number(spread.min), number(spread.max));
    if !with_range || spread.count < 2 || low == high {
        return number(spread.median);
    }
    format!("{} ({low}..{high})", number(spread.median))
}

fn multiple(group: &Group<'_>, row: &Row, column: Column) -> String {
    match group.ratio(row, column) {
        Some((reference, _)) if std::ptr::eq(reference, row) => "1".to_owned(),
        Some((reference, ratio)) => {
            format!(
                "{} {}",
                times(ratio.median),
                group.name_beside(reference, row)
            )
        }
        None => "-".to_owned(),
    }
}

fn work(row: &Row) -> &'static str {
    match (row.work_clean, row.reps.is_empty()) {
        (true, false) => "ok",
        (false, false) => "WRONG",
        (_, true) => "FAILED",
    }
}

#[cfg(test)]
mod tests;
