//! The demo in one process: nothing is lost.

use std::path::PathBuf;

use serde_json::Value;

use crate::drivers::drivers;
use crate::process::Proc;
use crate::setup::Site;

const QUICK: [&str; 4] = ["--tokens=16", "--ttft=5ms", "--itl=2ms", "--json"];

/// Runs the demo and checks its sums and its keys.
fn demo(args: &[&str]) -> Value {
    let ended = Proc::start(["demo"].iter().chain(args).chain(&QUICK))
        .end()
        .code(0);
    let summary = ended.json();
    let count = |key: &str| {
        summary[key]
            .as_u64()
            .unwrap_or_else(|| panic!("{key}: {summary}"))
    };
    let ends = count("streams_ok") + count("streams_cancelled") + count("streams_failed");
    assert_eq!(
        (count("streams_failed"), count("streams_started")),
        (0, ends),
        "{summary}"
    );
    assert!(count("tokens") > 0, "{summary}");
    for latency in ["ttft_us", "itl_us", "e2e_us"] {
        for quantile in ["p50", "p99", "p999"] {
            assert!(
                summary[latency][quantile].as_u64().unwrap() > 0,
                "{latency} in {summary}"
            );
        }
    }
    summary
}

#[test]
fn a_burst_on_both_drivers_and_in_both_homes() {
    for io in drivers() {
        for home in ["inline", "shards"] {
            let args = ["--prompts=64", "--io", io, "--home", home];
            let summary = demo(&args);
            assert_eq!(
                (&summary["io"], &summary["home"]),
                (&io.into(), &home.into())
            );
            assert_eq!(summary["streams_started"], 64);
            assert_eq!(
                summary["streams_cancelled"], 4,
                "one in sixteen is dropped on purpose"
            );
            assert!(summary.get("offered_per_s").is_none(), "{summary}");
        }
    }
}

fn trace(site: &Site, name: &str, text: &str) -> PathBuf {
    let file = site.path().join(name);
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_trace_of_each_format() {
    let site = Site::new();
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
        2031-02-28 23:59:58.0000000,10,4\n\
        2031-02-28 23:59:58.5000000,0,3\n\
        2031-02-28 23:59:59.0000000,20000,2\n\
        2031-03-01 00:00:08.0000000,7,5\n";
    let mooncake = "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 4}\n\
        {\"timestamp\": 500, \"input_length\": 0, \"output_length\": 3}\n\
        {\"timestamp\": 1000, \"input_length\": 20000, \"output_length\": 2}\n\
        {\"timestamp\": 10000, \"input_length\": 7, \"output_length\": 5}\n";
    for file in [
        trace(&site, "azure.csv", azure),
        trace(&site, "mooncake.jsonl", mooncake),
    ] {
        let file = file.to_str().unwrap();
        let summary = demo(&["--trace", file, "--speedup=100"]);
        assert_eq!(
            (&summary["streams_ok"], &summary["tokens"]),
            (&4.into(), &14.into())
        );
        // Four arrivals in ten seconds, a hundred times faster.
        let offered = summary["offered_per_s"].as_f64().unwrap();
        assert!((offered - 40.0).abs() < 0.5, "{summary}");
        let achieved = summary["achieved_per_s"].as_f64().unwrap();
        assert!(achieved > 0.0 && achieved < offered * 1.5, "{summary}");
        let summary = demo(&["--trace", file, "--speedup=100", "--limit=2"]);
        assert_eq!(
            (&summary["streams_ok"], &summary["tokens"]),
            (&2.into(), &7.into())
        );
    }
}

#[test]
fn a_trace_that_is_none_is_wrong_usage() {
    let site = Site::new();
    let file = trace(&site, "notes.txt", "milk\neggs\n");
    let ended = Proc::start(["demo", "--trace", file.to_str().unwrap()])
        .end()
        .code(2);
    ended.says("neither an Azure LLM trace");
}

#[test]
fn failing_workers_make_a_negative_answer() {
    let args = [
        "demo",
        "--json",
        "--prompts=8",
        "--tokens=4",
        "--ttft=1ms",
        "--fail-ratio=1",
    ];
    let summary = Proc::start(args).end().code(1).json();
    assert_eq!(
        (&summary["streams_failed"], &summary["streams_ok"]),
        (&8.into(), &0.into())
    );
    let failures = summary["failures"].as_object().unwrap();
    assert!(
        failures
            .keys()
            .any(|reason| reason.contains("injected failure")),
        "{summary}"
    );
}
