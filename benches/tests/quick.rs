//! The real binary, end to end: every workload gives rows that did the work they were asked for.

#![allow(clippy::unwrap_used, reason = "tests state what must hold")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const WORKLOADS: [&str; 15] = [
    "floor", "rtt", "rps", "stream", "paced", "step", "burst", "cancel", "churn", "pick", "mixed",
    "relay", "fleet", "large", "trace",
];

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("ringmain-bench-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Runs the binary on whatever CPUs this process may use.
fn bench(arguments: &[&str]) -> Output {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let allowed: Vec<usize> = (0..1024).filter(|&cpu| allowed.is_set(cpu)).collect();
    let first = allowed.first().unwrap().to_string();
    let last = allowed.last().unwrap().to_string();
    let cpus = ["--server-cpus", &first, "--client-cpus", &last];
    Command::new(env!("CARGO_BIN_EXE_ringmain-bench"))
        .args(arguments)
        .args(cpus)
        .output()
        .unwrap()
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_workload_does_its_work() {
    let folder = Folder::new("all");
    let json = folder.file("out.json");
    let hgrm = folder.file("hgrm");
    let html = folder.file("page.html");
    let output = bench(&[
        "all",
        "--quick",
        "--window",
        "60ms",
        "--warm-up",
        "30ms",
        "--traced",
        "no",
        "--json",
        &json,
        "--hgrm",
        &hgrm,
        "--html",
        &html,
    ]);
    assert!(output.status.success(), "{}", shown(&output));
    let results: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let rows = results["rows"].as_array().unwrap();
    let found: BTreeSet<_> = rows
        .iter()
        .map(|row| row["workload"].as_str().unwrap())
        .collect();
    assert_eq!(found, BTreeSet::from(WORKLOADS));
    for row in rows {
        assert_eq!(row["work_clean"], true, "{row}");
        assert!(row["failures"].as_array().unwrap().is_empty(), "{row}");
        assert_eq!(row["reps"].as_array().unwrap().len(), 1, "{row}");
        assert!(row["params"].is_object(), "{row}");
    }
    assert!(results["machine"]["cpus"].as_u64().unwrap() > 0);
    let stdout = String::from_utf8_lossy(&output.stdout);
    for workload in WORKLOADS {
        assert!(
            stdout.contains(&format!("\n{workload}: ")),
            "{workload} in {stdout}"
        );
    }
    assert!(std::fs::read_dir(&hgrm).unwrap().count() > WORKLOADS.len());
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("<svg") && page.contains("</html>"));
    page_again(&json, &hgrm, &page, &folder.0);
}

/// The page can be made again from the files alone.
fn page_again(json: &str, hgrm: &str, page: &str, folder: &Path) {
    let html = folder.join("again.html");
    let again = Command::new(env!("CARGO_BIN_EXE_ringmain-bench"))
        .args(["page", "--results", json, "--hgrm", hgrm, "--html"])
        .arg(&html)
        .output()
        .unwrap();
    assert!(again.status.success(), "{}", shown(&again));
    assert!(
        std::fs::read_to_string(&html).unwrap() == page,
        "the pages differ"
    );
}

#[test]
fn a_trace_file_is_played() {
    let folder = Folder::new("trace");
    let file = folder.file("trace.jsonl");
    let line =
        |at: u32| format!("{{\"timestamp\": {at}, \"input_length\": 50, \"output_length\": 4}}\n");
    std::fs::write(&file, (0..10).map(|n| line(n * 10)).collect::<String>()).unwrap();
    let json = folder.file("out.json");
    let flags = [
        "--quick",
        "--traced",
        "no",
        "--systems",
        "ringmain",
        "--json",
        &json,
    ];
    let output = bench(&[&["trace", &file, "--limit", "8"][..], &flags].concat());
    assert!(output.status.success(), "{}", shown(&output));
    let results: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(results["rows"][0]["reps"][0]["total_tokens"], 32.0);
    assert_eq!(results["rows"][0]["params"]["trace"], "trace.jsonl");
}

#[test]
fn what_cannot_run_is_told_and_what_fails_is_a_row() {
    for (arguments, expect) in [
        (
            &["rtt", "--systems", "nosuch"][..],
            "no system is called nosuch",
        ),
        (&["rtt", "--client-cpus", "1000"], "CPU 1000"),
        (
            &["stream", "--systems", "tcp_spin"],
            "none of the named systems",
        ),
        (
            &["compare", "--workload", "stop"],
            "no workload is called stop",
        ),
        (&["trace", "no/such/file"], "no/such/file"),
        (
            &["rtt", "--systems", "tonic", "--peers-dir", "no/such/folder"],
            "tonic is not built",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_ringmain-bench"))
            .args(arguments)
            .output()
            .unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(expect), "{arguments:?}: {stderr}");
    }
    // Nobody calls: the row is there, and says so.
    let output = bench(&["churn", "--quick", "--traced", "no", "--streams", "0"]);
    assert!(!output.status.success());
    let text = shown(&output);
    assert!(
        text.contains("no call ended") && text.contains("WRONG"),
        "{text}"
    );
}

#[test]
fn the_readme_shows_what_its_results_file_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO_BIN_EXE_ringmain-bench"))
        .args(["readme", "--results", "benches/results/compare.json"])
        .args(["--check", "README.md"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", shown(&output));
}
