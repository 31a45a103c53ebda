use super::finding::Finding;
use super::tree::{File, Tree};
use crate::args::task_names;

#[cfg(test)]
mod tests;

/// A file or folder per verb: what the binary can do is read off this folder.
const CLI_COMMANDS: &str = "crates/cli/src/cmd";

/// What the prose says must be there: files it links to, commands it tells the reader to type.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let tasks = task_names();
    let prose = tree.files().iter().filter(|file| file.is_markdown());
    prose
        .flat_map(|file| {
            let mut findings = check_links(tree, file);
            findings.extend(check_commands(tree, file, &tasks));
            findings
        })
        .collect()
}

fn check_links(tree: &Tree, file: &File) -> Vec<Finding> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for target in links(line) {
            let path = target.split('#').next().unwrap_or_default();
            let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            if !elsewhere && !resolve(folder, path).is_some_and(|path| tree.has(&path)) {
                let message = format!("links to {path}, which does not exist");
                findings.push(Finding::fail(&file.path, number, message));
            }
        }
    }
    findings
}

/// The targets of `[text](target)` in a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, opening)| {
        let rest = &line[at + opening.len()..];
        Some(
            rest.split_once(')')?
                .0
                .split_whitespace()
                .next()
                .unwrap_or_default(),
        )
    })
}

/// A relative path from a folder; `None` when it leaves the project.
fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn check_commands(tree: &Tree, file: &File, tasks: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_fence = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            continue;
        }
        for command in typed_commands(line, in_fence) {
            let complaint = complain(tree, command, tasks);
            findings.extend(complaint.map(|message| Finding::fail(&file.path, number, message)));
        }
    }
    findings
}

/// What a line tells the reader to type: all of it inside a code fence, its code spans elsewhere.
fn typed_commands(line: &str, in_fence: bool) -> Vec<&str> {
    if in_fence {
        vec![line.trim().trim_start_matches("$ ")]
    } else {
        line.split('`').skip(1).step_by(2).collect()
    }
}

fn complain(tree: &Tree, command: &str, tasks: &[String]) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["cargo", "xtask", task, ..] if is_verb(task) => {
            let known = tasks.iter().any(|name| name == task);
            (!known).then(|| format!("`cargo xtask {task}` is not a task; there are {tasks:?}"))
        }
        ["cargo", "run", rest @ ..] => {
            let verb = rest.iter().skip_while(|word| **word != "--").nth(1)?;
            let other_package = rest
                .iter()
                .any(|word| *word == "-p" || *word == "--package");
            if other_package {
                None
            } else {
                complain_verb(tree, verb)
            }
        }
        ["ringmain", verb, ..] => complain_verb(tree, verb),
        _ => None,
    }
}

fn complain_verb(tree: &Tree, verb: &str) -> Option<String> {
    let file = format!("{CLI_COMMANDS}/{verb}.rs");
    let folder = format!("{CLI_COMMANDS}/{verb}");
    let known = !is_verb(verb) || tree.has(&file) || tree.has(&folder);
    (!known).then(|| format!("`ringmain {verb}` is not a command: there is no {file}"))
}

/// Flags and placeholders are not verbs.
fn is_verb(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}
