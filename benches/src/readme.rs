//! The comparison table of a README, made from a results file.

use std::path::Path;

use anyhow::{Context, bail};

use crate::args::ReadmeArgs;
use crate::compare::targets;
use crate::output::format::{number, times};
use crate::output::grid;
use crate::results::{Results, Row, write_whole};

mod measures;

use self::measures::{MEASURES, Measure};

const BEGIN: &str = "<!-- comparison: begin -->";
const END: &str = "<!-- comparison: end -->";
/// The systems beside ours; results files have their variants too.
const COLUMNS: [&str; 6] = [
    "dynamo_tcp",
    "dynamo_quic",
    "tonic",
    "nats",
    "velo",
    "tokio_mux",
];

/// Writes the table, or checks it.
///
/// # Errors
///
/// If a file cannot be read or written, markers are missing, or a check finds a difference.
pub(crate) fn run(args: &ReadmeArgs) -> anyhow::Result<()> {
    let results = Results::load(&args.results)?;
    let path = &args.readme;
    let now =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = shown_path(&args.results);
    let wanted = replaced(&now, &comparison(&results, &name))
        .with_context(|| format!("in {}", path.display()))?;
    if now == wanted {
        return Ok(());
    }
    if args.check {
        bail!(
            "{} is not what {name} gives: run `ringmain-bench readme --results {name} {}`",
            path.display(),
            path.display()
        );
    }
    write_whole(path, &wanted)
}

/// A path as it stands in the repository.
fn shown_path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// The text with what stands between the markers replaced.
fn replaced(text: &str, table: &str) -> anyhow::Result<String> {
    let markers = || format!("the marker comments {BEGIN} and {END} are needed, in this order");
    let (before, rest) = text.split_once(BEGIN).with_context(markers)?;
    let (_, after) = rest.split_once(END).with_context(markers)?;
    Ok(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

/// Both tables, and where they are from.
fn comparison(results: &Results, file: &str) -> String {
    let mut text = grid::markdown(&systems(results), 1);
    text.push_str(
        "\nMedians; in brackets how many times ours. `-`: not measured. `failed`: the system did \
         not finish that work.\n\n",
    );
    let verdict = targets::cells(results);
    text.push_str(&grid::markdown(&verdict.lines, verdict.names));
    let versions = results.versions.iter();
    let versions: Vec<String> = versions
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let repetitions = results
        .rows
        .iter()
        .map(|row| row.reps.len())
        .max()
        .unwrap_or(0);
    text.push_str(&format!(
        "\n{}; {}; {repetitions} repetitions, interleaved, server and client on a core each. {}. \
         All figures: [{file}]({file}). Again: `{}`\n",
        results.machine.line(),
        results.machine.date.split('T').next().unwrap_or_default(),
        versions.join(", "),
        results.command,
    ));
    text
}

/// A line for each measure, a column for each system that was measured.
fn systems(results: &Results) -> Vec<Vec<String>> {
    let measured = |name: &&str| results.rows.iter().any(|row| row.system == **name);
    let others: Vec<&str> = COLUMNS.into_iter().filter(measured).collect();
    let mut header = vec!["lower is better".to_owned(), "ringmain".to_owned()];
    header.extend(others.iter().map(|&name| name.to_owned()));
    let mut lines = vec![header];
    for measure in MEASURES {
        let ours = find(results, measure, "ringmain", measure.ours);
        let Some(own) = ours.and_then(|row| value(row, measure)) else {
            continue;
        };
        let mut line = vec![measure.name.to_owned(), format!("**{}**", number(own))];
        for &name in &others {
            let row = find(results, measure, name, measure.theirs);
            line.push(match row.map(|row| (row, value(row, measure))) {
                None => "-".to_owned(),
                Some((row, Some(other))) if row.work_clean => {
                    format!("{} ({})", number(other), times(other / own))
                }
                Some(_) => "failed".to_owned(),
            });
        }
        lines.push(line);
    }
    lines
}

fn value(row: &Row, measure: &Measure) -> Option<f64> {
    Some(row.spread(measure.figure)?.median * measure.scale)
}

fn find<'a>(
    results: &'a Results,
    measure: &Measure,
    system: &str,
    params: &[(&str, &str)],
) -> Option<&'a Row> {
    results.rows.iter().find(|row| {
        let has = |param: &(&str, &str)| row.param(param.0).as_deref() == Some(param.1);
        row.workload == measure.workload && row.system == system && params.iter().all(has)
    })
}

#[cfg(test)]
mod tests;
