//! House rules that no compiler checks. Each rule is a function from the tree to findings, so that
//! it is tested on small made trees.

mod code;
mod docs;
mod finding;
mod layers;
mod lengths;
mod manifests;
mod source;
mod spec;
mod text;
mod tree;

use std::path::Path;

use anyhow::bail;

use self::finding::{Finding, Level};
use self::tree::Tree;
use crate::process::say;

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 7] = [
    layers::check,
    manifests::check,
    lengths::check,
    text::check,
    code::check,
    spec::check,
    docs::check,
];

/// Applies every rule to the tree below `root` and shows what it found; any failure is an error.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let tree = Tree::load(root)?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    for finding in &findings {
        say(&finding.to_string());
    }
    let failures = findings
        .iter()
        .filter(|finding| finding.level == Level::Fail)
        .count();
    let notes = findings.len() - failures;
    say(&format!(
        "{} files, {failures} failures, {notes} notes",
        tree.files().len()
    ));
    if failures > 0 {
        bail!("tidy found {failures} failures");
    }
    Ok(())
}
