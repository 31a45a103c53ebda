use super::finding::Finding;
use super::tree::{File, Tree};

#[cfg(test)]
mod tests;

/// Every crate takes the workspace's lints; one that forgets to is checked by nothing.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    packages(tree)
        .filter_map(|(file, table)| {
            let lints = table.get("lints").and_then(|lints| lints.get("workspace"));
            let listed = lints.and_then(toml::Value::as_bool) == Some(true);
            let message = "add `[lints] workspace = true`: without it no lint of ours applies here";
            (!listed).then(|| Finding::fail(&file.path, 0, message))
        })
        .collect()
}

/// The manifests of our workspace's packages. Nested workspaces are left out, with all that is in
/// them: nothing of ours applies there. A manifest that does not parse is cargo's business.
pub(super) fn packages(tree: &Tree) -> impl Iterator<Item = (&File, toml::Table)> {
    let manifests = tree.files().iter().filter_map(|file| {
        if !file.path.ends_with("/Cargo.toml") {
            return None;
        }
        let table: toml::Table = file.text.parse().ok()?;
        Some((file, table))
    });
    let (nested, members): (Vec<_>, Vec<_>) =
        manifests.partition(|(_, table)| table.contains_key("workspace"));
    members.into_iter().filter(move |(file, table)| {
        let is_within = |(nested, _): &(&File, toml::Table)| {
            let folder = nested.path.trim_end_matches("Cargo.toml");
            file.path.starts_with(folder)
        };
        table.contains_key("package") && !nested.iter().any(is_within)
    })
}

/// The name a package manifest gives.
pub(super) fn package_name(table: &toml::Table) -> &str {
    let name = table.get("package").and_then(|package| package.get("name"));
    name.and_then(toml::Value::as_str).unwrap_or_default()
}
