use std::collections::BTreeSet;
use std::fmt;

use super::finding::Finding;
use super::tree::Tree;

#[cfg(test)]
mod tests;

const SPEC: &str = "docs/spec/wire.md";
const OWN: &str = "crates/xtask/";
const CITES: &str = "spec ";

/// A clause's number, ordered as a reader counts: 4.2 before 4.10.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Clause(Vec<u32>);

impl Clause {
    fn is_below(&self, other: &Self) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

/// Code and tests cite the clauses they implement (`spec 4.2`). A citation of nothing fails; a
/// clause that nothing cites is noted.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(spec) = tree.file(SPEC) else {
        return Vec::new();
    };
    let clauses: BTreeSet<Clause> = spec.text.lines().filter_map(clause_of_line).collect();
    let mut cited = BTreeSet::new();
    let mut findings = Vec::new();
    // The checks' own samples cite clauses of made specs.
    let code = tree
        .files()
        .iter()
        .filter(|file| file.is_rust() && !file.path.starts_with(OWN));
    for file in code {
        for (number, line) in file.lines() {
            for clause in citations(line) {
                if !clauses.contains(&clause) {
                    let message = format!("cites spec {clause}, but {SPEC} has no such clause");
                    findings.push(Finding::fail(&file.path, number, message));
                }
                cited.insert(clause);
            }
        }
    }
    // A section is its clauses, and citing clause 4.2 cites what 4.2.1 adds to it.
    let is_section = |clause: &Clause| clauses.iter().any(|other| other.is_below(clause));
    let is_cited = |clause: &Clause| {
        let is_above = |other: &Clause| other.0.len() > 1 && clause.is_below(other);
        cited.contains(clause) || cited.iter().any(is_above)
    };
    let uncited: Vec<String> = clauses
        .iter()
        .filter(|clause| !is_section(clause) && !is_cited(clause))
        .map(Clause::to_string)
        .collect();
    if !uncited.is_empty() {
        let (some, all) = (uncited.len(), clauses.len());
        let message = format!(
            "{some} of {all} clauses are cited nowhere: {}",
            uncited.join(", ")
        );
        findings.push(Finding::note(SPEC, 0, message));
    }
    findings
}

/// The clause that a line of the spec starts: a heading (`## 4 Frames`), or a paragraph, list item
/// or table row that begins with a dotted number (`**4.2** A frame ..`).
fn clause_of_line(line: &str) -> Option<Clause> {
    let is_heading = line.starts_with('#');
    let text = line.trim_start_matches(|c: char| c.is_whitespace() || "#*-|>§`_[(".contains(c));
    let (clause, rest) = leading_clause(text)?;
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let ends = rest
        .chars()
        .next()
        .is_none_or(|c| c.is_whitespace() || "*|:`_)]".contains(c));
    (ends && (is_heading || clause.0.len() > 1)).then_some(clause)
}

/// Every clause a line cites: `spec 4.2`, `spec 4.2, 4.5 and 6.1`.
fn citations(line: &str) -> Vec<Clause> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices(CITES) {
        let inside_word = line[..at]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric);
        let mut rest = if inside_word {
            ""
        } else {
            &line[at + CITES.len()..]
        };
        let mut is_first = true;
        while let Some((clause, after)) = leading_clause(rest.trim_start_matches('§')) {
            // After the first, only a dotted number is surely a clause and not a count.
            if !is_first && clause.0.len() < 2 {
                break;
            }
            found.push(clause);
            is_first = false;
            let next = [", ", " and ", " to ", "-", "–", "/"]
                .iter()
                .find_map(|sep| after.strip_prefix(sep));
            rest = next.unwrap_or("");
        }
    }
    found
}

/// Splits `4.2.1 rest` after its number.
fn leading_clause(text: &str) -> Option<(Clause, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        parts.push(rest[..digits].parse().ok()?);
        rest = &rest[digits..];
        match rest.strip_prefix('.') {
            Some(tail) if tail.starts_with(|c: char| c.is_ascii_digit()) => rest = tail,
            _ => return Some((Clause(parts), rest)),
        }
    }
}
