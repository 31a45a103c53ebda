use super::*;
use crate::tidy::finding::brief;

const MANIFEST: &str = "[package]\nname = \"a\"\n";

fn check_one(path: &str, text: &str) -> Vec<String> {
    brief(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn unsafe_belongs_in_the_reactor() {
    let text = "fn f() {\n    unsafe { g() }\n}\n";
    assert_eq!(
        check_one("server/src/a.rs", text),
        ["FAIL server/src/a.rs:2: unsafe code belongs in crates/reactor/",]
    );
    assert!(check_one("crates/reactor/src/a.rs", text).is_empty());
    assert!(check_one("server/src/a.rs", "// unsafe\nlet a = \"unsafe\";\n").is_empty());
}

#[test]
fn libraries_forbid_unsafe() {
    let check_lib = |folder: &str, lib: &str| {
        let manifest = format!("{folder}Cargo.toml");
        let path = format!("{folder}src/lib.rs");
        brief(&check(&Tree::of(&[(&manifest, MANIFEST), (&path, lib)])))
    };
    assert!(check_lib("codec/", "//! A.\n#![forbid(unsafe_code)]\n").is_empty());
    assert_eq!(
        check_lib("codec/", "//! #![forbid(unsafe_code)]\n"),
        ["FAIL codec/src/lib.rs: add `#![forbid(unsafe_code)]`",]
    );
    assert!(check_lib("crates/reactor/", "//! A.\n").is_empty());
    // A package without a library has nothing to forbid it in.
    assert!(brief(&check(&Tree::of(&[("a/Cargo.toml", MANIFEST)]))).is_empty());
}

#[test]
fn unfinished_code_is_refused() {
    assert_eq!(
        check_one(
            "a/src/a.rs",
            "fn f() {\n    todo!()\n}\nfn g() { unimplemented!() }\n"
        ),
        [
            "FAIL a/src/a.rs:2: `todo!` panics in use: write it, or leave it out",
            "FAIL a/src/a.rs:4: `unimplemented!` panics in use: write it, or leave it out",
        ]
    );
    assert!(check_one("a/src/a.rs", "// todo!()\nlet todo = !x;\n").is_empty());
}

#[test]
fn an_ignored_test_says_why() {
    let expect = "FAIL a/src/a.rs:1: give the reason: `#[ignore = \"..\"]`";
    assert_eq!(check_one("a/src/a.rs", "#[ignore]\nfn f() {}\n"), [expect]);
    assert!(check_one("a/src/a.rs", "#[ignore = \"needs root\"]\nfn f() {}\n").is_empty());
}

#[test]
fn the_codec_reads_no_clock() {
    let text = "let now = Instant::now();\n";
    assert_eq!(check_one("codec/src/a.rs", text).len(), 1);
    assert!(check_one("codec/src/a/tests.rs", text).is_empty());
    assert!(check_one("codec/tests/pair.rs", text).is_empty());
    assert!(check_one("server/src/a.rs", text).is_empty());
}
