use super::finding::Finding;
use super::manifests::packages;
use super::source::{code_only, has_word};
use super::tree::{File, Tree};

#[cfg(test)]
mod tests;

/// Folders where unsafe code is allowed, and reviewed as such.
const UNSAFE_FOLDERS: [&str; 3] = ["crates/reactor/", "bindings/", "benches/allocator/"];
const FORBID_UNSAFE: &str = "#![forbid(unsafe_code)]";
/// Reading a clock in the codec would make its runs differ; its callers pass the time in.
const CLOCKS: [&str; 3] = ["Instant::now", "SystemTime::now", "UNIX_EPOCH"];

/// Rules about Rust code, blind to what comments and literals say.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.files().iter().filter(|file| file.is_rust());
    rust.flat_map(check_file)
        .chain(packages(tree).filter_map(|(file, _)| {
            let folder = file.path.strip_suffix("Cargo.toml")?;
            forbids_unsafe(tree, folder)
        }))
        .collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let code = code_only(&file.text);
    let may_be_unsafe = UNSAFE_FOLDERS
        .iter()
        .any(|folder| file.path.starts_with(folder));
    let is_codec = file.path.starts_with("codec/src/") && !file.is_test();
    let mut findings = Vec::new();
    let mut fail = |line, message: String| findings.push(Finding::fail(&file.path, line, message));
    for (index, line) in code.lines().enumerate() {
        let number = index + 1;
        if !may_be_unsafe && has_word(line, "unsafe") {
            fail(
                number,
                format!("unsafe code belongs in {}", UNSAFE_FOLDERS[0]),
            );
        }
        for macro_name in ["todo", "unimplemented"] {
            if has_word(line, macro_name) && line.contains(&format!("{macro_name}!")) {
                fail(
                    number,
                    format!("`{macro_name}!` panics in use: write it, or leave it out"),
                );
            }
        }
        if line.contains("#[ignore]") {
            fail(number, "give the reason: `#[ignore = \"..\"]`".to_owned());
        }
        if let Some(clock) = CLOCKS
            .iter()
            .find(|clock| is_codec && has_word(line, clock))
        {
            fail(
                number,
                format!("`{clock}`: the codec reads no clock, its callers pass `now` in"),
            );
        }
    }
    findings
}

fn forbids_unsafe(tree: &Tree, folder: &str) -> Option<Finding> {
    if UNSAFE_FOLDERS.contains(&folder) || UNSAFE_FOLDERS.iter().any(|f| folder.starts_with(f)) {
        return None;
    }
    let library = tree.file(&format!("{folder}src/lib.rs"))?;
    let forbids = code_only(&library.text)
        .lines()
        .any(|line| line.trim() == FORBID_UNSAFE);
    (!forbids).then(|| Finding::fail(&library.path, 0, format!("add `{FORBID_UNSAFE}`")))
}
