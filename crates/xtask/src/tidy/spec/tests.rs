use super::*;
use crate::tidy::finding::brief;

const WIRE: &str = "\
# Wire protocol

Version 1.0 of 2 documents.

## 4 Frames

**4.1** A frame has a header.
4.2. A header has 8 bytes.
- **4.10** Last.

### 5.1 Credit
| 5.2 | table |
";

fn check_code(code: &str) -> Vec<String> {
    brief(&check(&Tree::of(&[(SPEC, WIRE), ("codec/src/a.rs", code)])))
}

#[test]
fn clauses_are_found_in_every_form() {
    let clauses: Vec<String> = WIRE
        .lines()
        .filter_map(clause_of_line)
        .map(|clause| clause.to_string())
        .collect();
    assert_eq!(clauses, ["4", "4.1", "4.2", "4.10", "5.1", "5.2"]);
}

#[test]
fn uncited_clauses_are_noted_in_reading_order() {
    assert_eq!(
        check_code("// spec 5.1, 5.2\n"),
        ["note docs/spec/wire.md: 3 of 6 clauses are cited nowhere: 4.1, 4.2, 4.10",]
    );
    assert!(check_code("// spec 4.1 and 4.2, (spec 4.10); spec 5.1-5.2\n").is_empty());
}

#[test]
fn citing_a_clause_cites_what_stands_below_it() {
    let wire = "## 6 Credit\n6.2 **Window.**\n6.2.1 It grows.\n6.3 It ends.\n";
    let cite = |code| brief(&check(&Tree::of(&[(SPEC, wire), ("codec/src/a.rs", code)])));
    let uncited = |which| [format!("note {SPEC}: {which}")];
    assert_eq!(
        cite("// spec 6.2\n"),
        uncited("1 of 4 clauses are cited nowhere: 6.3")
    );
    // A whole chapter is too much to have meant each clause of it.
    assert_eq!(
        cite("// spec 6\n"),
        uncited("2 of 4 clauses are cited nowhere: 6.2.1, 6.3")
    );
}

#[test]
fn a_citation_of_nothing_fails() {
    let found = check_code("\n/// See spec 4.3.\n");
    assert!(
        found.contains(
            &"FAIL codec/src/a.rs:2: cites spec 4.3, but docs/spec/wire.md has no such clause"
                .into()
        ),
        "{found:?}"
    );
}

#[test]
fn citations_are_read_whole() {
    for (line, expect) in [
        ("spec 4", vec!["4"]),
        ("(spec 4.2).", vec!["4.2"]),
        ("spec 4.2.1, 4.5 and 6.1 bytes", vec!["4.2.1", "4.5", "6.1"]),
        ("spec 4.2, 3 times", vec!["4.2"]),
        ("spec §4.2 then spec 5.1", vec!["4.2", "5.1"]),
        ("inspec 4.2, the spec says", vec![]),
    ] {
        let found: Vec<String> = citations(line).iter().map(Clause::to_string).collect();
        assert_eq!(found, expect, "{line}");
    }
}

#[test]
fn without_a_spec_there_is_nothing_to_check() {
    assert!(check(&Tree::of(&[("a.rs", "// spec 4.2")])).is_empty());
}
