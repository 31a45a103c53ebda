use super::*;
use crate::tidy::finding::brief;

fn check_lines(path: &str, lines: usize, expect: &[&str]) {
    let text = "x\n".repeat(lines);
    assert_eq!(brief(&check(&Tree::of(&[(path, &text)]))), expect);
}

#[test]
fn length_is_noted_and_then_refused() {
    check_lines("a/src/lib.rs", 400, &[]);
    check_lines(
        "a/src/lib.rs",
        401,
        &["note a/src/lib.rs: 401 lines, aim for 400: split it by noun"],
    );
    check_lines(
        "a/src/lib.rs",
        801,
        &["FAIL a/src/lib.rs: 801 lines, at most 800: split it by noun"],
    );
}

#[test]
fn tests_and_other_files_are_not_counted() {
    check_lines("a/src/x/tests.rs", 2_000, &[]);
    check_lines("a/tests/it/main.rs", 2_000, &[]);
    check_lines("docs/spec/wire.md", 2_000, &[]);
    let inline = format!(
        "{}#[cfg(test)]\nmod tests {{\n{}}}\n",
        "x\n".repeat(10),
        "y\n".repeat(900)
    );
    assert!(check(&Tree::of(&[("a/src/lib.rs", &inline)])).is_empty());
}
