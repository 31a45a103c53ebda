use super::*;

const VERSION: &str = "rustc 1.95.0 (5980761 2026-04-14)\nbinary: rustc\n\
    host: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";

fn toolchain() -> Toolchain {
    Toolchain::parse(VERSION).unwrap()
}

fn counts(counts: &[(&str, f64)]) -> Counts {
    counts
        .iter()
        .map(|&(name, count)| (name.to_owned(), count))
        .collect()
}

fn verdict(old: &[(&str, f64)], new: &[(&str, f64)]) -> Verdict {
    judge::judge(&Baseline::new(toolchain(), &counts(old)), &counts(new))
}

fn fault(old: &[(&str, f64)], new: &[(&str, f64)]) -> String {
    let here = toolchain();
    let error = conclude(&verdict(old, new), &here, &here).unwrap_err();
    format!("{error:#}")
}

#[test]
fn a_count_within_the_tolerance_passes() {
    let found = verdict(
        &[("a/b", 100.0), ("c/d", 8.0)],
        &[("a/b", 102.9), ("c/d", 8.0)],
    );
    let here = toolchain();
    assert_eq!(conclude(&found, &here, &here).unwrap(), Outcome::Passed);
    assert!(found.better.is_empty());
    assert!(found.table.contains("1.029"), "{}", found.table);
}

#[test]
fn a_count_that_rose_fails_and_says_by_how_much() {
    let found = fault(&[("a/b", 100.0)], &[("a/b", 103.2)]);
    assert!(
        found.contains("a/b takes 103.2 instructions instead of 100.0 (+3.2 %)"),
        "{found}"
    );
    assert!(found.contains("--bless"), "{found}");
}

#[test]
fn a_count_that_fell_passes_and_is_named() {
    let found = verdict(
        &[("a/b", 100.0), ("c/d", 8.0)],
        &[("a/b", 96.0), ("c/d", 8.0)],
    );
    assert_eq!(
        (found.better, found.faults),
        (vec!["a/b".to_owned()], vec![])
    );
}

#[test]
fn benchmarks_and_baseline_name_the_same() {
    let found = fault(&[("a/b", 100.0)], &[("a/b", 100.0), ("c/d", 8.0)]);
    assert!(found.contains("c/d has no baseline"), "{found}");
    let found = fault(&[("a/b", 100.0), ("c/d", 8.0)], &[("a/b", 100.0)]);
    assert!(
        found.contains("c/d is in the baseline but was not counted"),
        "{found}"
    );
}

#[test]
fn another_toolchain_is_shown_and_not_judged() {
    let found = verdict(&[("a/b", 100.0)], &[("a/b", 200.0)]);
    for (from, to) in [
        ("release: 1.95.0", "release: 1.96.0"),
        ("x86_64", "aarch64"),
    ] {
        let other = Toolchain::parse(&VERSION.replace(from, to)).unwrap();
        let Outcome::Skipped(reason) = conclude(&found, &toolchain(), &other).unwrap() else {
            panic!("{other} was judged");
        };
        assert!(reason.contains(&other.to_string()), "{reason}");
    }
}

#[test]
fn a_baseline_is_read_as_it_was_written() {
    let baseline = Baseline::new(toolchain(), &counts(&[("a/b", 100.04), ("c/d", 8.0)]));
    assert_eq!(Baseline::parse(&baseline.show()).unwrap(), baseline);
    assert_eq!(baseline.instructions["a/b"], 100.0);
    for (bad, why) in [
        ("{}", "no `instructions_per_operation`"),
        (r#"{"instructions_per_operation": {}}"#, "no text `rustc`"),
        (
            r#"{"instructions_per_operation": {"a": 0}}"#,
            "a has no count",
        ),
    ] {
        let error = format!("{:#}", Baseline::parse(bad).unwrap_err());
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn the_list_has_names_and_operations() {
    let bench = |name: &str, operations| Bench {
        name: name.to_owned(),
        operations,
    };
    let expected = [bench("a/b", 1024), bench("c/d", 64)];
    assert_eq!(list("a/b 1024\nc/d 64\n").unwrap(), expected);
    for bad in ["", "a/b", "a/b 0", "a/b many"] {
        assert!(list(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_program_and_its_count_are_found() {
    let messages = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"serde\"},\
        \"executable\":null}\n{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"counts\"},\
        \"executable\":\"/t/counts-1\"}\n{\"reason\":\"build-finished\",\"success\":true}\n";
    assert_eq!(executable(messages), Some(PathBuf::from("/t/counts-1")));
    assert_eq!(executable("{\"reason\":\"build-finished\"}\n"), None);
    let written = "==7== Events    : Ir\n==7== Collected : 7759979\n==7== \n";
    assert_eq!(collected(written), Some(7_759_979));
    assert_eq!(collected("==7== Events    : Ir\n"), None);
}
