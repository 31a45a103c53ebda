//! The Azure LLM inference traces: `TIMESTAMP,ContextTokens,GeneratedTokens`.

use super::{LineError, TraceError, TraceRequest, moment, numbered_lines};

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
pub(super) fn parse(text: &str) -> Result<Vec<TraceRequest>, TraceError> {
    let mut lines = numbered_lines(text);
    let Some((_, header)) = lines.next() else {
        return Ok(Vec::new());
    };
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let position = |column| {
        let found = names.iter().position(|name| *name == column);
        found.ok_or(TraceError::Column(column))
    };
    let columns = [
        position(COLUMNS[0])?,
        position(COLUMNS[1])?,
        position(COLUMNS[2])?,
    ];
    lines
        .map(|(number, line)| {
            request(line, names.len(), columns)
                .map_err(|source| TraceError::Line { number, source })
        })
        .collect()
}

fn request(line: &str, width: usize, columns: [usize; 3]) -> Result<TraceRequest, LineError> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != width {
        return Err(LineError::Fields {
            got: fields.len(),
            named: width,
        });
    }
    let [arrival, prompt, generated] = columns.map(|column| fields[column]);
    let at = moment::parse(arrival).ok_or_else(|| LineError::Time(arrival.to_owned()))?;
    Ok(TraceRequest {
        at,
        prompt_tokens: tokens(prompt, COLUMNS[1])?,
        generated_tokens: tokens(generated, COLUMNS[2])?,
    })
}

fn tokens(field: &str, column: &'static str) -> Result<u32, LineError> {
    field.parse().map_err(|source| LineError::Tokens {
        column,
        text: field.to_owned(),
        source,
    })
}
