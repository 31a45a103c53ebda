//! What exactly was measured.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::catalog::{Entry, Program, Programs};

/// Versions of this program and of the peers that take part.
pub(crate) fn read<'a>(
    programs: &Programs,
    systems: impl Iterator<Item = &'a Entry>,
) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    let mut own = env!("CARGO_PKG_VERSION").to_owned();
    if let Some(commit) = said("git", &["describe", "--always", "--dirty"]) {
        own.push_str(&format!(" ({commit})"));
    }
    versions.insert("ringmain".to_owned(), own);
    let folder = programs.peers_dir();
    for system in systems {
        let Program::Peer(binary) = system.program else {
            continue;
        };
        for &package in system.packages {
            if let Some(version) = locked(folder, binary, package) {
                versions.insert(package.to_owned(), version);
            }
        }
        if system.name == "nats"
            && let Some(version) = said("nats-server", &["--version"])
        {
            let number = version.split_whitespace().last().unwrap_or(&version);
            versions.insert("nats-server".to_owned(), number.to_owned());
        }
    }
    versions
}

/// The version in the lock file of the peer's workspace; some have one of their own.
fn locked(folder: &Path, binary: &str, package: &str) -> Option<String> {
    let own = binary.strip_prefix("peer-").unwrap_or(binary);
    [folder.join(own), folder.to_owned()].iter().find_map(|at| {
        let text = std::fs::read_to_string(at.join("Cargo.lock")).ok()?;
        version_in(&text, package)
    })
}

fn version_in(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1)?.strip_prefix("version = \"")?;
    Some(version.trim_end_matches('"').to_owned())
}

/// The first line that a command says, if it succeeds.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn a_lock_file_gives_versions_by_exact_name() {
        let lock = "[[package]]\nname = \"tonic-prost\"\nversion = \"0.1.0\"\n\n[[package]]\n\
                    name = \"tonic\"\nversion = \"0.14.2\"\nsource = \"x\"\n";
        assert_eq!(version_in(lock, "tonic"), Some("0.14.2".to_owned()));
        assert_eq!(version_in(lock, "prost"), None);
    }
}
