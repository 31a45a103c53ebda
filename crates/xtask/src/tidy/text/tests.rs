use super::*;
use crate::tidy::finding::brief;

fn check_one(path: &str, text: &str) -> Vec<String> {
    brief(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn columns_are_counted_in_characters() {
    let fits = format!("// {}", "é".repeat(97));
    assert!(check_one("a.rs", &fits).is_empty());
    let long = format!("// {}", "é".repeat(98));
    assert_eq!(
        check_one("a.rs", &format!("\n{long}")),
        ["FAIL a.rs:2: 101 columns, at most 100"]
    );
    assert!(check_one("a.md", &long).is_empty());
    for unbreakable in [
        format!("// https://example.org/{long}"),
        format!("f(\"{long}\")"),
        format!("/// | {long} |"),
    ] {
        assert!(check_one("a.rs", &unbreakable).is_empty(), "{unbreakable}");
    }
}

#[test]
fn unfinished_marks_are_refused_outside_prose() {
    assert_eq!(check_one("a.rs", &format!("// {FIX_ME} later")).len(), 1);
    assert_eq!(check_one(".ci/run", &format!("# {FIX_ME}")).len(), 1);
    assert!(check_one("CONTRIBUTING.md", &format!("no {FIX_ME}")).is_empty());
}

#[test]
fn machine_paths_are_refused_everywhere() {
    for folder in MACHINE_FOLDERS {
        for line in [
            format!("/{folder}/x"),
            format!("see \"/{folder}/x\""),
            format!("`/{folder}/`"),
        ] {
            let expect = format!("FAIL a.md:1: a path under /{folder}/ exists on one machine only");
            assert_eq!(check_one("a.md", &line), [expect], "{line}");
        }
        for line in [
            format!("https://example.org/{folder}/x"),
            format!("src/{folder}/mod.rs"),
            format!("~/{folder}/x"),
            format!("{{root}}/{folder}/x"),
        ] {
            assert!(check_one("a.md", &line).is_empty(), "{line}");
        }
    }
}

#[test]
fn files_of_others_are_left_alone() {
    assert!(check_one("Cargo.lock", FIX_ME).is_empty());
    assert!(check_one("LICENSE-MIT", FIX_ME).is_empty());
}
