use super::*;
use crate::tidy::finding::brief;

fn check_prose(path: &str, prose: &str) -> Vec<String> {
    let tree = Tree::of(&[
        (path, prose),
        ("docs/spec/wire.md", ""),
        ("crates/cli/src/cmd/demo.rs", ""),
        ("crates/cli/src/cmd/serve/mod.rs", ""),
    ]);
    brief(&check(&tree))
}

#[test]
fn links_lead_somewhere() {
    assert!(check_prose("README.md", "[spec](docs/spec/wire.md#3), [docs](docs/)").is_empty());
    assert!(check_prose("docs/why/a.md", "[spec](../spec/wire.md) [up](../..)").is_empty());
    assert!(check_prose("README.md", "[a](https://example.org/x) [b](#part)").is_empty());
    assert_eq!(
        check_prose("README.md", "\nsee [guide](docs/guide.md)"),
        ["FAIL README.md:2: links to docs/guide.md, which does not exist",]
    );
    assert_eq!(check_prose("README.md", "[out](../README.md)").len(), 1);
}

#[test]
fn tasks_that_are_told_exist() {
    assert!(
        check_prose(
            "README.md",
            "Run `cargo xtask test --quick` or `cargo xtask`."
        )
        .is_empty()
    );
    let found = check_prose("README.md", "```\ncargo xtask frobnicate\n```\n");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("FAIL README.md:2: `cargo xtask frobnicate` is not a task"));
}

#[test]
fn commands_that_are_told_exist() {
    for good in [
        "`cargo run --release -- demo`",
        "`ringmain serve --listen ADDR`",
        "`ringmain --version`, `ringmain`",
        "`cargo run -p other -- frobnicate`",
        "ringmain frobnicate is prose",
        "```sh\n$ ringmain demo --json\n```",
    ] {
        assert!(check_prose("README.md", good).is_empty(), "{good}");
    }
    for bad in [
        "`ringmain frobnicate`",
        "```\ncargo run --release -- frobnicate\n```",
    ] {
        let found = check_prose("README.md", bad);
        assert_eq!(found.len(), 1, "{bad}");
        assert!(
            found[0].contains("there is no crates/cli/src/cmd/frobnicate.rs"),
            "{found:?}"
        );
    }
}
