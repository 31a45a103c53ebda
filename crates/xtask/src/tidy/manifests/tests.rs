use super::*;
use crate::tidy::finding::brief;

#[test]
fn packages_without_the_lints_are_refused() {
    let tree = Tree::of(&[
        ("Cargo.toml", "[workspace]\n"),
        (
            "a/Cargo.toml",
            "[package]\nname = \"a\"\n[lints]\nworkspace = true\n",
        ),
        ("b/Cargo.toml", "[package]\nname = \"b\"\n"),
        (
            "c/Cargo.toml",
            "[package]\nname = \"c\"\n[lints]\nworkspace = false\n",
        ),
        (
            "a/fuzz/Cargo.toml",
            "[package]\nname = \"f\"\n[workspace]\n",
        ),
        ("d/Cargo.toml", "[workspace]\nmembers = [\"e\"]\n"),
        ("d/e/Cargo.toml", "[package]\nname = \"e\"\n"),
    ]);
    let found = brief(&check(&tree));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("FAIL b/Cargo.toml: add `[lints]"),
        "{found:?}"
    );
    assert!(
        found[1].starts_with("FAIL c/Cargo.toml: add `[lints]"),
        "{found:?}"
    );
}
