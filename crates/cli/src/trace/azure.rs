//! The Azure LLM inference traces: `TIMESTAMP,ContextTokens,GeneratedTokens`.

use anyhow::{Context, bail};

use super::{TraceRequest, moment, numbered_lines};

#[cfg(test)]
mod tests;

/// The columns that are read, by the header's names; others may stand beside them.
pub(super) const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/// Whether a line is the header of such a trace.
pub(super) fn is_header(line: &str) -> bool {
    let names: Vec<&str> = line.split(',').map(str::trim).collect();
    COLUMNS.iter().all(|column| names.contains(column))
}

/// Parses a text that begins with the header; arrivals count from the epoch.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<TraceRequest>> {
    let mut lines = numbered_lines(text);
    let Some((_, header)) = lines.next() else {
        return Ok(Vec::new());
    };
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let position = |column| {
        let found = names.iter().position(|name| *name == column);
        found.with_context(|| format!("the header has no column {column}"))
    };
    let columns = [
        position(COLUMNS[0])?,
        position(COLUMNS[1])?,
        position(COLUMNS[2])?,
    ];
    lines
        .map(|(number, line)| {
            request(line, names.len(), columns).with_context(|| format!("line {number}"))
        })
        .collect()
}

fn request(line: &str, width: usize, columns: [usize; 3]) -> anyhow::Result<TraceRequest> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != width {
        bail!("{} fields, but the header names {width}", fields.len());
    }
    let [arrival, prompt, generated] = columns.map(|column| fields[column]);
    let at = moment::parse(arrival)
        .with_context(|| format!("{arrival:?} is no time like 2023-11-16 18:15:46.6805900"))?;
    Ok(TraceRequest {
        at,
        prompt_tokens: tokens(prompt, COLUMNS[1])?,
        generated_tokens: tokens(generated, COLUMNS[2])?,
    })
}

fn tokens(field: &str, column: &str) -> anyhow::Result<u32> {
    field
        .parse()
        .with_context(|| format!("{column} is {field:?}, not a count of tokens"))
}
