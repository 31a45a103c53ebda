//! Rows that stand in one table, and what they are compared with.

use super::columns::{Column, split_by};
use crate::results::{Results, Row};
use crate::stats::{Spread, ratio};
use crate::workload::{Workload, is_floor, is_peer};

/// Parameters that are no setting of a system, in the order of their columns.
const ORDER: [&str; 23] = [
    "path",
    "policy",
    "kind",
    "load",
    "io",
    "idle",
    "home",
    "spin_us",
    "shards",
    "lanes",
    "instances",
    "connections",
    "streams",
    "rounds",
    "items",
    "item_bytes",
    "request_bytes",
    "interval_us",
    "rate",
    "wedged",
    "changes_per_s",
    "trace",
    "calls",
];

/// One table's rows.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) workload: Workload,
    /// What tells this table from others of the workload.
    pub(crate) name: String,
    pub(crate) rows: Vec<&'a Row>,
}

/// The tables of a workload.
pub(crate) fn groups(results: &Results, workload: Workload) -> Vec<Group<'_>> {
    let rows = results.rows_of(workload.name());
    if rows.is_empty() {
        return Vec::new();
    }
    let Some(param) = split_by(workload.name()) else {
        return vec![Group {
            workload,
            name: String::new(),
            rows,
        }];
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in &rows {
        let name = format!("{param}={}", row.param(param).unwrap_or_default());
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group {
                workload,
                name,
                rows: vec![row],
            }),
        }
    }
    if workload == Workload::Stream {
        add_equals_of_step(&mut groups);
    }
    groups
}

/// A step gives each stream one item, which others do as one item per turn.
fn add_equals_of_step(groups: &mut [Group<'_>]) {
    let ours = |row: &&&Row| row.system == "ringmain";
    let yields = groups.iter().find(|group| group.name == "kind=yield");
    let equals: Vec<_> = match yields {
        Some(group) => group
            .rows
            .iter()
            .filter(|row| !ours(row))
            .copied()
            .collect(),
        None => return,
    };
    if let Some(group) = groups.iter_mut().find(|group| group.name == "kind=step") {
        group.rows.extend(equals);
    }
}

impl<'a> Group<'a> {
    /// The heading: what is shown, and what all rows share.
    pub(crate) fn title(&self) -> String {
        let name = self.workload.name();
        let mut text = format!("{name}: {}", self.workload.about());
        let varying = self.varying();
        let shared = ORDER.iter().filter(|param| !varying.contains(param));
        let shared = shared.filter_map(|&param| {
            let value = self.rows.iter().find_map(|row| row.param(param))?;
            Some(format!("{param}={value}"))
        });
        let shared: Vec<String> = shared.collect();
        if !shared.is_empty() {
            text.push_str(&format!(" ({})", shared.join(" ")));
        }
        text
    }

    /// Parameters that rows of this table differ in.
    pub(crate) fn varying(&self) -> Vec<&'static str> {
        let differ = |param: &&'static str| {
            let mut values: Vec<_> = self
                .rows
                .iter()
                .filter_map(|row| row.param(param))
                .collect();
            values.sort_unstable();
            values.dedup();
            values.len() > 1
        };
        ORDER
            .iter()
            .copied()
            .filter(|param| differ(param))
            .collect()
    }

    /// What `row` is shown as a multiple of.
    pub(crate) fn reference(&self, row: &Row, column: Column) -> Option<&'a Row> {
        let present = |other: &&Row| other.spread(column.figure).is_some();
        let rows = || self.rows.iter().copied().filter(present);
        match self.workload {
            Workload::Relay => {
                rows().find(|other| other.param("path").as_deref() == Some("direct"))
            }
            Workload::Fleet => rows().next(),
            workload => {
                let idle = row.param("idle");
                let floor = workload.floor_of(idle.as_deref());
                let floor = floor.and_then(|name| rows().find(|other| other.system == name));
                let peers = rows().filter(|other| is_peer(&other.system) && other.work_clean);
                let any_floor = || rows().find(|other| is_floor(&other.system));
                floor.or_else(|| best(peers, column)).or_else(any_floor)
            }
        }
    }

    /// What a reference is called in a row's cell: its system, or what it has otherwise.
    pub(crate) fn name_beside(&self, reference: &Row, row: &Row) -> String {
        if reference.system != row.system {
            return reference.system.clone();
        }
        let varying = self.varying();
        let values = varying.iter().filter_map(|param| reference.param(param));
        values.collect::<Vec<_>>().join("/")
    }

    /// `row` as a multiple of its reference.
    pub(crate) fn ratio(&self, row: &Row, column: Column) -> Option<(&'a Row, Spread)> {
        let reference = self.reference(row, column)?;
        let found = ratio(&row.values(column.figure), &reference.values(column.figure))?;
        Some((reference, found))
    }
}

/// The row with the lowest figure.
pub(crate) fn best<'a>(rows: impl Iterator<Item = &'a Row>, column: Column) -> Option<&'a Row> {
    let median = |row: &Row| row.spread(column.figure).map_or(f64::MAX, |s| s.median);
    rows.min_by(|a, b| median(a).total_cmp(&median(b)))
}

/// What tells a row from others of its table, as a line in a legend.
pub(crate) fn label(row: &Row, varying: &[&str]) -> String {
    let mut text = row.system.clone();
    for param in varying {
        if let Some(value) = row.param(param) {
            text.push_str(&format!(" {param}={value}"));
        }
    }
    text
}
