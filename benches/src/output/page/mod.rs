//! A page that needs nothing but a browser: percentile curves and tables.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::columns::columns;
use super::format::number;
use super::groups::{Group, groups, label};
use super::hgrm::Curve;
use super::table::{Cells, cells, counted_cells};
use crate::results::{Results, Row};
use crate::workload::Workload;

mod chart;
mod scale;
mod style;
#[cfg(test)]
mod tests;

/// Distributions by [`Row::file_stem`].
pub(crate) type Curves = BTreeMap<String, Curve>;

/// The whole page. `verdict` is a further table, below the machine.
pub(crate) fn page(results: &Results, curves: &Curves, verdict: Option<&Cells>) -> String {
    let mut body = String::new();
    head(&mut body, results);
    if let Some(verdict) = verdict {
        body.push_str("<section id=\"targets\"><h2>Targets</h2>");
        table(&mut body, verdict, |_| false);
        body.push_str("</section>\n");
    }
    for workload in Workload::ALL {
        let groups = groups(results, workload);
        if groups.is_empty() {
            continue;
        }
        let name = workload.name();
        let about = escape(workload.about());
        push(
            &mut body,
            format_args!("<section id=\"{name}\"><h2>{name}</h2><p>{about}</p>\n"),
        );
        for group in &groups {
            section(&mut body, group, curves);
        }
        body.push_str("</section>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Ringmain benchmarks</title>\n<style>{}</style>\n</head>\n\
         <body>\n{body}</body>\n</html>\n",
        style::CSS
    )
}

fn head(body: &mut String, results: &Results) {
    body.push_str("<header><h1>Ringmain benchmarks</h1>\n");
    push(
        body,
        format_args!("<p>{}<br>", escape(&results.machine.line())),
    );
    push(
        body,
        format_args!("{}</p>\n", escape(&results.machine.date)),
    );
    push(
        body,
        format_args!("<pre>{}</pre>\n", escape(&results.command)),
    );
    let versions = results.versions.iter();
    let versions: Vec<String> = versions
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    push(
        body,
        format_args!(
            "<p class=\"note\">{}</p>\n<nav>",
            escape(&versions.join(" · "))
        ),
    );
    for workload in Workload::ALL {
        let name = workload.name();
        if !results.rows_of(name).is_empty() {
            push(body, format_args!("<a href=\"#{name}\">{name}</a> "));
        }
    }
    body.push_str("</nav></header>\n");
}

/// A chart, where there are distributions, and the table below it.
fn section(body: &mut String, group: &Group<'_>, curves: &Curves) {
    let title = group.title();
    let (_, shared) = title.split_once(" (").unwrap_or((&title, ""));
    push(
        body,
        format_args!(
            "<figure><figcaption>{}</figcaption>\n",
            escape(shared.trim_end_matches(')'))
        ),
    );
    let varying = group.varying();
    let lines: Vec<chart::Line<'_>> = group
        .rows
        .iter()
        .filter_map(|row| {
            Some(chart::Line {
                label: label(row, &varying),
                system: &row.system,
                curve: curves
                    .get(&row.file_stem())
                    .filter(|curve| curve.points.len() > 1)?,
            })
        })
        .collect();
    if !lines.is_empty() {
        body.push_str(&chart::chart(group.workload, &lines));
    }
    bars(body, group, &varying);
    let ours = |index: usize| group.rows.get(index).is_some_and(|row| is_ours(row));
    table(
        body,
        &cells(group, columns(group.workload.name()), true),
        ours,
    );
    if let Some(counted) = counted_cells(group) {
        body.push_str("<details><summary>Syscalls, allocations, context switches</summary>\n");
        table(body, &counted, ours);
        body.push_str("</details>\n");
    }
    for row in &group.rows {
        for failure in &row.failures {
            let (system, failure) = (escape(&row.system), escape(failure));
            push(
                body,
                format_args!("<p class=\"failure\">{system}: {failure}</p>\n"),
            );
        }
    }
    body.push_str("</figure>\n");
}

/// What the server's work costs, where that is what rows are compared by.
fn bars(body: &mut String, group: &Group<'_>, varying: &[&str]) {
    let columns = columns(group.workload.name()).iter();
    let mut columns = columns.filter(|c| c.ratio && c.figure == "server_ns_per_token");
    let Some(column) = columns.next() else {
        return;
    };
    let value = |row: &&Row| Some(row.spread(column.figure)?.median * column.scale);
    let highest = group.rows.iter().filter_map(value).fold(0.0, f64::max);
    if highest <= 0.0 || group.rows.len() < 2 {
        return;
    }
    push(
        body,
        format_args!("<div class=\"bars\"><h3>{}</h3>\n", escape(column.title)),
    );
    for row in &group.rows {
        let Some(value) = value(row) else { continue };
        let class = if is_ours(row) { " class=\"ours\"" } else { "" };
        push(
            body,
            format_args!(
                "<span>{}</span><i{class} style=\"width:{:.1}%\"></i><b>{}</b>\n",
                escape(&label(row, varying)),
                value / highest * 100.0,
                number(value),
            ),
        );
    }
    body.push_str("</div>\n");
}

fn is_ours(row: &Row) -> bool {
    row.system == "ringmain"
}

fn table(body: &mut String, cells: &Cells, ours: impl Fn(usize) -> bool) {
    body.push_str("<div class=\"scroll\"><table>\n");
    for (index, line) in cells.lines.iter().enumerate() {
        let is_head = index == 0;
        let class = if !is_head && ours(index - 1) {
            " class=\"ours\""
        } else {
            ""
        };
        push(body, format_args!("<tr{class}>"));
        for (column, cell) in line.iter().enumerate() {
            let tag = if is_head { "th" } else { "td" };
            let class = match cell.as_str() {
                _ if column < cells.names => " class=\"name\"",
                "FAILED" | "WRONG" | "not met" => " class=\"bad\"",
                "ok" | "met" => " class=\"good\"",
                _ => "",
            };
            push(
                body,
                format_args!("<{tag}{class}>{}</{tag}>", with_range(cell)),
            );
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n");
}

/// The range of a cell in a smaller voice than its median.
fn with_range(cell: &str) -> String {
    match cell.split_once(" (") {
        Some((median, range)) => format!("{} <small>({}</small>", escape(median), escape(range)),
        None => escape(cell),
    }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _written = out.write_fmt(text).is_ok();
}
