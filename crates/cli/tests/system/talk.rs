//! One process serves, another calls.

use std::io::Read;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Proc, ringmain};
use crate::setup::{ENDLESS, ENDPOINT, Site, made, streaming};

#[test]
fn tokens_arrive_as_they_are_made_and_an_interrupt_ends_the_text_early() {
    let site = Site::new();
    let worker = site.worker(&[ENDLESS]);
    // The first token is here, and the last will never be made.
    let call = streaming(site.start_call(&[]));
    call.wait_out("more tokens", |out| out.contains(" token3"));
    call.signal(Signal::INT);
    let ended = call.end().code(0).says("stopping");
    let tokens = u32::try_from(ended.out.split_whitespace().count()).unwrap();
    assert_eq!(
        ended.out,
        made(tokens) + "\n",
        "whole, in order and nothing twice"
    );
    worker.start_drain();
    let (ended, stopped) = worker.end();
    ended.code(0);
    assert_eq!(stopped["drain_clean"], true);
}

#[test]
fn an_interrupt_reaches_the_handler_and_its_usage_record_comes_back() {
    let site = Site::new();
    let _worker = site.worker(&[ENDLESS]);
    let call = site.start_call(&["--json"]);
    call.wait_catches(Signal::INT);
    call.signal(Signal::INT);
    let answer = call.end().code(0).json();
    assert_eq!(
        (&answer["status"], &answer["error"]),
        (&"cancelled".into(), &Value::Null)
    );
    assert_eq!(
        answer["trailers"]["usage_tokens"],
        answer["tokens"].to_string()
    );
}

#[test]
fn a_second_interrupt_drops_the_stream() {
    let site = Site::new();
    // This engine looks at nothing before its first token is due.
    let worker = site.worker(&["--ttft=1h"]);
    let call = site.start_call(&["--json"]);
    call.wait_catches(Signal::INT);
    call.signal(Signal::INT);
    call.wait_err("stopping");
    call.signal(Signal::INT);
    let answer = call.end().code(1).json();
    assert_eq!(answer["status"], "killed");
    // The handler is gone as well, so nothing is left to wait for.
    worker.start_drain();
    worker.end().0.code(0);
}

#[test]
fn stop_after_some_tokens_is_a_good_end() {
    let site = Site::new();
    let worker = site.worker(&[ENDLESS]);
    let answer = site.call(&["--json", "--stop-after=3"]).code(0).json();
    assert_eq!(answer["status"], "cancelled");
    assert_eq!(answer["endpoint"], ENDPOINT);
    assert_eq!(answer["instance"], worker.instance());
    assert_eq!(answer["started"], "yes");
    assert!(answer["tokens"].as_u64().unwrap() >= 3);
    assert_eq!(
        answer["trailers"]["usage_tokens"],
        answer["tokens"].to_string()
    );
    let text = answer["text"].as_str().unwrap();
    assert!(text.starts_with(" token0 token1 token2"), "{text}");
    assert_eq!(answer["bytes"], text.len());
    for key in ["ttft_us", "e2e_us"] {
        assert!(answer[key].as_u64().unwrap() > 0, "{key} in {answer}");
    }
    for quantile in ["p50", "p99", "p999"] {
        assert!(
            answer["itl_us"][quantile].is_u64(),
            "{quantile} in {answer}"
        );
    }
}

#[test]
fn whole_answers_of_each_engine() {
    let site = Site::new();
    let text = site.path().join("text");
    std::fs::write(&text, "to be  or not\nto be").unwrap();
    let replay = format!("--engine=replay:{}", text.display());
    let cases = [
        ("--engine=mock", "", made(4)),
        (
            "--engine=echo",
            "--data=who is  there",
            "who is  there".to_owned(),
        ),
        (replay.as_str(), "", "to be  or not\nto be".to_owned()),
    ];
    for (engine, data, answer) in cases {
        let site = Site::new();
        let _worker = site.worker(&[engine, "--tokens=4"]);
        for home in ["--home=inline", "--home=shards"] {
            let args: Vec<_> = [home, data]
                .into_iter()
                .filter(|arg| !arg.is_empty())
                .collect();
            let ended = site.call(&args).code(0);
            assert_eq!(ended.out, format!("{answer}\n"), "{engine} {home}");
        }
    }
}

#[test]
fn the_caller_says_how_many_tokens_and_where_from() {
    let site = Site::new();
    let workers = [site.worker(&[]), site.worker(&[])];
    for worker in &workers {
        let args = ["--json", "--max-tokens=2", "--instance", worker.instance()];
        let answer = site.call(&args).code(0).json();
        assert_eq!(
            (&answer["text"], &answer["status"]),
            (&made(2).into(), &"ok".into())
        );
        assert_eq!(answer["instance"], worker.instance());
    }
}

#[test]
fn data_comes_from_a_file_or_from_standard_input() {
    let site = Site::new();
    let _worker = site.worker(&["--engine=echo"]);
    let file = site.path().join("prompt");
    std::fs::write(&file, "out of a file").unwrap();
    let ended = site.call(&[&format!("--data=@{}", file.display())]).code(0);
    assert_eq!(ended.out, "out of a file\n");
    let mut command = ringmain(["call", ENDPOINT, "--data=-", "--registry", &site.registry()]);
    let output = command
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"out of a file\n", "{output:?}");
}

#[test]
fn a_reader_that_leaves_has_seen_enough() {
    let site = Site::new();
    let worker = site.worker(&[ENDLESS]);
    let mut command = ringmain(["call", ENDPOINT, "--registry", &site.registry()]);
    let mut call = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = call.stdout.take().unwrap();
    pipe.read_exact(&mut [0]).unwrap();
    drop(pipe);
    // Its next token finds nobody.
    assert_eq!(call.wait().unwrap().code(), Some(0));
    worker.start_drain();
    worker.end().0.code(0);
}

#[test]
fn events_of_a_worker_are_objects() {
    let site = Site::new();
    let worker = site.worker(&["--shards=1"]);
    let serving = &worker.serving;
    assert_eq!(
        (&serving["event"], &serving["endpoint"]),
        (&"serving".into(), &ENDPOINT.into())
    );
    assert_eq!(
        (&serving["registry"], &serving["shards"]),
        (&site.registry().into(), &1.into())
    );
    assert!(
        ["uring", "epoll"].contains(&serving["io"].as_str().unwrap()),
        "{serving}"
    );
    assert!(worker.address().starts_with("127.0.0.1:"), "{serving}");
    worker.process.signal(Signal::INT);
    let (ended, stopped) = worker.end();
    ended.code(0);
    let expected = serde_json::json!({"event": "stopped", "drain_clean": true, "cut_off": 0});
    assert_eq!(stopped, expected);
}

#[test]
fn wrong_usage_is_told_from_a_negative_answer() {
    let site = Site::new();
    let registry = site.registry();
    let cases: [&[&str]; 10] = [
        &[],
        &["sing"],
        &["call", ENDPOINT],
        &["call", "no-endpoint", "--registry", &registry],
        &["call", ENDPOINT, "--registry", "carrier-pigeon:home"],
        &["call", ENDPOINT, "--registry", "static:/no/such/list"],
        &[
            "call",
            ENDPOINT,
            "--registry",
            &registry,
            "--data=@/no/such/file",
        ],
        &["serve", "--endpoint", ENDPOINT, "--registry", &registry],
        &["demo", "--io=carrier-pigeon"],
        &["demo", "--speedup=2"],
    ];
    for args in cases {
        let ended = Proc::start(args).end().code(2);
        assert!(
            !ended.err.is_empty() && ended.out.is_empty(),
            "{args:?}: {ended:?}"
        );
    }
    Proc::start(["--help"]).end().code(0);
}
