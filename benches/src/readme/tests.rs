use std::collections::BTreeMap;

use serde_json::json;

use super::{BEGIN, END, comparison, replaced, run};
use crate::args::ReadmeArgs;
use crate::results::{Results, Row};

fn results() -> Results {
    let row = |system: &str, value: f64| Row {
        workload: "cancel".to_owned(),
        system: system.to_owned(),
        params: BTreeMap::from([
            ("home".to_owned(), json!("local")),
            ("idle".to_owned(), json!("park")),
        ]),
        reps: vec![BTreeMap::from([("p50_us".to_owned(), value)])],
        work_clean: true,
        ..Row::default()
    };
    let mut failed = row("velo", 1.0);
    failed.work_clean = false;
    Results {
        rows: vec![row("ringmain", 100.0), row("tonic", 250.0), failed],
        command: "bench compare".to_owned(),
        ..Results::default()
    }
}

#[test]
fn the_table_has_medians_and_ratios() {
    let text = comparison(&results(), "results.json");
    assert!(
        text.starts_with("| lower is better | ringmain | tonic | velo |\n"),
        "{text}"
    );
    let cancel = "| cancel until the handler sees it, p50, µs | **100** | 250 (2.50x) | failed |";
    assert!(text.contains(cancel), "{text}");
    assert!(text.contains("`bench compare`"), "{text}");
}

#[test]
fn only_what_is_between_the_markers_changes() {
    let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
    let once = replaced(&text, "new\n").unwrap();
    assert_eq!(once, format!("a\n{BEGIN}\n\nnew\n\n{END}\nb\n"));
    assert_eq!(replaced(&once, "new\n").unwrap(), once);
    for text in ["a", BEGIN, END] {
        assert!(replaced(text, "new").is_err(), "{text}");
    }
    assert!(replaced(&format!("{END} {BEGIN}"), "new").is_err());
}

#[test]
fn a_check_fails_until_the_readme_is_written() {
    let folder = std::env::temp_dir().join(format!("ringmain-bench-readme-{}", std::process::id()));
    let mut args = ReadmeArgs {
        results: folder.join("results.json"),
        check: true,
        readme: folder.join("README.md"),
    };
    results().save(&args.results).unwrap();
    std::fs::write(&args.readme, format!("# x\n{BEGIN}\n{END}\n")).unwrap();
    let error = run(&args).unwrap_err().to_string();
    assert!(error.contains("ringmain-bench readme --results"), "{error}");
    args.check = false;
    run(&args).unwrap();
    args.check = true;
    run(&args).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
