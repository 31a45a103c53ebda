use super::finding::Finding;
use super::source::without_literals;
use super::tree::{File, Tree};

#[cfg(test)]
mod tests;

const COLUMNS_MAX: usize = 100;
/// Spelled in two parts, so that this file does not break its own rule.
const FIX_ME: &str = concat!("FIX", "ME");
/// Folders of one machine: a path into them works nowhere else.
const MACHINE_FOLDERS: [&str; 3] = ["home", "root", "work"];

/// Rules about lines, whatever language they are in.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .iter()
        .filter(|file| is_ours(file))
        .flat_map(check_file)
        .collect()
}

/// Lock files are written by tools, licenses by others.
fn is_ours(file: &File) -> bool {
    !file.path.ends_with("Cargo.lock") && !file.path.contains("LICENSE")
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = if file.is_rust() {
        check_columns(file)
    } else {
        Vec::new()
    };
    for (number, line) in file.lines() {
        if !file.is_markdown() && line.contains(FIX_ME) {
            let message = format!("{FIX_ME}: do it now, or open an issue and say TODO");
            findings.push(Finding::fail(&file.path, number, message));
        }
        if let Some(folder) = machine_folder(line) {
            let message = format!("a path under /{folder}/ exists on one machine only");
            findings.push(Finding::fail(&file.path, number, message));
        }
    }
    findings
}

/// Links, long literals and rows of documentation tables cannot be broken; all else can.
fn check_columns(file: &File) -> Vec<Finding> {
    let breakable = without_literals(&file.text);
    let lines = breakable.lines().enumerate().filter(|(_, line)| {
        let in_table = ["//! |", "/// |"]
            .iter()
            .any(|row| line.trim_start().starts_with(row));
        !in_table && !line.contains("://")
    });
    lines
        .filter_map(|(index, line)| {
            let columns = line.chars().count();
            let message = format!("{columns} columns, at most {COLUMNS_MAX}");
            (columns > COLUMNS_MAX).then(|| Finding::fail(&file.path, index + 1, message))
        })
        .collect()
}

/// The machine's folder that a line names by an absolute path, if any.
fn machine_folder(line: &str) -> Option<&'static str> {
    MACHINE_FOLDERS.into_iter().find(|folder| {
        let needle = format!("/{folder}/");
        line.match_indices(&needle).any(|(at, _)| {
            // A part of a longer path, a URL or `~/`, is something else.
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "_-.~/})>*".contains(c))
        })
    })
}
