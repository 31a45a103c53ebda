//! Percentile curves as SVG.

use super::scale::{Log, Nines};
use super::{escape, push};
use crate::catalog::{Class, SYSTEMS, entry};
use crate::output::columns::key_histogram;
use crate::output::format::number;
use crate::output::hgrm::Curve;
use crate::workload::Workload;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;
/// Colors of lines that are not ours.
const COLORS: usize = 8;

/// One line of a chart.
pub(super) struct Line<'a> {
    pub(super) label: String,
    pub(super) system: &'a str,
    pub(super) curve: &'a Curve,
}

/// A chart with its legend.
pub(super) fn chart(workload: Workload, lines: &[Line<'_>]) -> String {
    let values = || {
        lines
            .iter()
            .flat_map(|line| line.curve.points.iter().map(|point| point.1))
    };
    let low = values().fold(f64::MAX, f64::min);
    let high = values().fold(0.0, f64::max);
    let count = lines.iter().map(|line| line.curve.count).max().unwrap_or(0);
    let (x, y) = (Nines::new(count), Log::new(low, high));
    let classes = classes(lines);
    let mut out = String::from("<div class=\"chart\">\n");
    push(
        &mut out,
        format_args!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n"),
    );
    let what = match (key_histogram(workload.name()), workload) {
        ("ttft", _) => "time to first item",
        ("produced", _) => "step to client",
        (_, Workload::Paced | Workload::Large | Workload::Trace) => "lateness of items",
        (_, Workload::Stream | Workload::Relay) => "time of a whole call",
        _ => "latency",
    };
    push(
        &mut out,
        format_args!("<title>{} of {}</title>\n", what, workload.name()),
    );
    axes(&mut out, x, y, what);
    // Ours last, so that no other line covers it.
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&index| class_of(lines[index].system) == Some(Class::Ours));
    for index in order {
        let line = &lines[index];
        push(
            &mut out,
            format_args!(
                "<path class=\"line {}\" d=\"{}\"><title>{}: p50 {} µs, p99 {} µs</title></path>\n",
                classes[index],
                path(line.curve, x, y),
                escape(&line.label),
                number(at(line.curve, 0.5)),
                number(at(line.curve, 0.99)),
            ),
        );
    }
    out.push_str("</svg>\n<ul class=\"legend\"><li><span></span><small>p50</small></li>\n");
    for (line, class) in lines.iter().zip(&classes) {
        push(
            &mut out,
            format_args!(
                "<li><svg viewBox=\"0 0 26 8\"><path class=\"line {class}\" d=\"M1 4H25\"/></svg>\
                 <span>{}</span><small>{}</small></li>\n",
                escape(&line.label),
                duration(at(line.curve, 0.5)),
            ),
        );
    }
    out.push_str("</ul></div>\n");
    out
}

fn axes(out: &mut String, x: Nines, y: Log, what: &str) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for tick in y.ticks() {
        let at = vertical(y, tick);
        push(
            out,
            format_args!("<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>"),
        );
        let (text, label) = (LEFT - 8.0, duration(tick));
        push(
            out,
            format_args!(
                "<text x=\"{text}\" y=\"{:.1}\" class=\"y\">{label}</text>\n",
                at + 4.0
            ),
        );
    }
    for (quantile, name) in x.ticks() {
        let at = horizontal(x, quantile);
        push(
            out,
            format_args!("<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/>"),
        );
        let text = bottom + 18.0;
        push(
            out,
            format_args!("<text x=\"{at:.1}\" y=\"{text}\" class=\"x\">{name}</text>\n"),
        );
    }
    let middle = (LEFT + right) / 2.0;
    let below = HEIGHT - 8.0;
    push(
        out,
        format_args!(
            "<text x=\"{middle}\" y=\"{below}\" class=\"x axis\">{what} by percentile: each \
             further nine takes the same room</text>\n"
        ),
    );
}

fn path(curve: &Curve, x: Nines, y: Log) -> String {
    let mut path = String::new();
    let mut last_x = LEFT;
    for (index, &(quantile, value)) in curve.points.iter().enumerate() {
        // The highest value has no percentile of its own below 100 %: it ends the line upward.
        let at = if quantile < 1.0 {
            horizontal(x, quantile)
        } else {
            last_x
        };
        let letter = if index == 0 { 'M' } else { 'L' };
        push(
            &mut path,
            format_args!("{letter}{at:.1} {:.1}", vertical(y, value)),
        );
        last_x = at;
    }
    path
}

fn horizontal(x: Nines, quantile: f64) -> f64 {
    LEFT + x.at(quantile) * (WIDTH - LEFT - RIGHT)
}

fn vertical(y: Log, value: f64) -> f64 {
    HEIGHT - BOTTOM - y.at(value) * (HEIGHT - TOP - BOTTOM)
}

/// The value at a quantile.
fn at(curve: &Curve, quantile: f64) -> f64 {
    let found = curve.points.iter().find(|point| point.0 >= quantile);
    found
        .or_else(|| curve.points.last())
        .map_or(0.0, |point| point.1)
}

/// Microseconds in the unit that keeps them short.
fn duration(us: f64) -> String {
    let (value, unit) = match us {
        _ if us < 1.0 => (us * 1e3, "ns"),
        _ if us < 1000.0 => (us, "µs"),
        _ if us < 1e6 => (us / 1e3, "ms"),
        _ => (us / 1e6, "s"),
    };
    let text = number(value);
    match text.contains('.') {
        true => format!(
            "{} {unit}",
            text.trim_end_matches('0').trim_end_matches('.')
        ),
        false => format!("{text} {unit}"),
    }
}

fn class_of(system: &str) -> Option<Class> {
    entry(system).map(|entry| entry.class)
}

/// Classes that give lines their look: ours stands out, floors stand back, each other its color.
fn classes(lines: &[Line<'_>]) -> Vec<String> {
    let (mut ours, mut floors) = (0, 0);
    let others = SYSTEMS.iter();
    let others = others.filter(|e| matches!(e.class, Class::Peer | Class::Reported));
    let next = |counter: &mut usize| {
        *counter += 1;
        *counter - 1
    };
    let class = |line: &Line<'_>| match class_of(line.system) {
        Some(Class::Ours) => format!("ours dash{}", next(&mut ours) % 4),
        Some(Class::Floor) => format!("floor dash{}", next(&mut floors) % 4),
        // The same color in every chart of the page.
        _ => {
            let at = others.clone().position(|entry| entry.name == line.system);
            let at = at.unwrap_or(0);
            format!("other{} dash{}", at % COLORS, at / COLORS)
        }
    };
    lines.iter().map(class).collect()
}
