use super::finding::Finding;
use super::tree::{File, Tree};

#[cfg(test)]
mod tests;

const LINES_AIM: usize = 400;
const LINES_MAX: usize = 800;

/// Long files hide nouns that want a file of their own. Tests are not counted.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .iter()
        .filter(|file| file.is_rust() && !file.is_test())
        .filter_map(judge)
        .collect()
}

fn judge(file: &File) -> Option<Finding> {
    let lines = lines_without_tests(&file.text);
    let hint = "split it by noun";
    if lines > LINES_MAX {
        Some(Finding::fail(
            &file.path,
            0,
            format!("{lines} lines, at most {LINES_MAX}: {hint}"),
        ))
    } else if lines > LINES_AIM {
        Some(Finding::note(
            &file.path,
            0,
            format!("{lines} lines, aim for {LINES_AIM}: {hint}"),
        ))
    } else {
        None
    }
}

/// Lines up to an inline test module at the end of the file.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    tests.unwrap_or(lines.len())
}
