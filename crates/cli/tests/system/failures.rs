//! A call that fails says why, as a type, and exits 1.

use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Proc, eventually};
use crate::setup::{ENDLESS, ENDPOINT, Site, start_call, streaming};

/// The call's typed reason, read by a person and by a program.
fn fails(registry: &str, args: &[&str], status: &str, text: &str) -> Value {
    start_call(registry, args)
        .end()
        .code(1)
        .says("ringmain: ")
        .says(text);
    let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
    let answer = start_call(registry, &args).end().code(1).json();
    assert_eq!(answer["status"], status, "{answer}");
    assert!(
        answer["error"]["message"].as_str().unwrap().contains(text),
        "{answer}"
    );
    assert!(answer["error"]["retryable"].is_boolean(), "{answer}");
    answer
}

#[test]
fn nobody_serves_it() {
    let site = Site::new();
    let answer = fails(
        &site.registry(),
        &["--wait=0ms"],
        "unknown_endpoint",
        "no instance serves",
    );
    assert_eq!(
        (&answer["started"], &answer["tokens"]),
        (&"no".into(), &0.into())
    );
}

#[test]
fn a_dead_worker_whose_record_is_still_there_refuses() {
    let site = Site::new();
    let worker = site.worker(&[]);
    let instance = worker.instance().to_owned();
    worker.process.signal(Signal::KILL);
    let address = worker.address().to_owned();
    assert_eq!(worker.end().0.status.code(), None, "killed");
    // The kernel takes a ring apart after the end of its process, and the listener with it.
    eventually("a closed port", || TcpStream::connect(&address).is_err());
    for home in ["--home=inline", "--home=shards"] {
        let answer = fails(
            &site.registry(),
            &[home],
            "connection_lost",
            "connection refused",
        );
        assert_eq!(
            (&answer["started"], &answer["instance"]),
            (&"no".into(), &instance.clone().into())
        );
    }
}

#[test]
fn a_worker_that_serves_something_else_says_so() {
    let site = Site::new();
    let other = Site::new();
    let fixed = [
        "--endpoint=test.worker.other",
        "--listen=127.0.0.1:0",
        "--json",
        "--registry",
    ];
    let registry = other.registry();
    let worker = Proc::start(["serve"].iter().chain(&fixed).chain(&[&*registry]));
    let serving = worker.wait_out("what it serves", |out| out.contains('\n'));
    let serving: Value = serde_json::from_str(serving.trim()).unwrap();
    let list = site.list(ENDPOINT, serving["addresses"][0].as_str().unwrap());
    let answer = fails(&list, &[], "unknown_endpoint", "unknown_endpoint");
    assert_eq!(answer["started"], "no");
}

#[test]
fn a_failing_engine_is_an_application_error() {
    let site = Site::new();
    let _worker = site.worker(&["--fail-ratio=1", "--tokens=8"]);
    let answer = fails(&site.registry(), &[], "application", "injected failure");
    assert_eq!(answer["started"], "yes");
}

#[test]
fn a_full_worker_names_its_limit() {
    for (queued, limit) in [(0, "concurrency_max"), (2, "queue_max")] {
        let site = Site::new();
        let queue_max = format!("--queue-max={}", queued / 2);
        let _worker = site.worker(&[ENDLESS, "--concurrency-max=1", &queue_max]);
        let _running = streaming(site.start_call(&[]));
        let mut waiting: Vec<_> = (0..queued).map(|_| site.start_call(&["--json"])).collect();
        let _waiting = (queued > 0).then(|| {
            // The queue has one place less than there are calls for it.
            let mut refused = None;
            eventually("a full queue", || {
                refused = waiting.iter_mut().position(Proc::has_ended);
                refused.is_some()
            });
            let refused = waiting.swap_remove(refused.unwrap()).end().code(1).json();
            assert_eq!(refused["error"]["limit"], limit);
            waiting
        });
        start_call(&site.registry(), &[]).end().code(1).says(limit);
        let answer = fails(&site.registry(), &[], "overloaded", "overloaded");
        assert_eq!(
            (&answer["started"], &answer["error"]["limit"]),
            (&"no".into(), &limit.into())
        );
    }
}

#[test]
fn a_deadline_ends_a_running_stream_and_one_that_never_began() {
    let site = Site::new();
    let worker = site.worker(&[ENDLESS]);
    let deadline = ["--deadline=300ms"];
    let answer = fails(
        &site.registry(),
        &deadline,
        "deadline_exceeded",
        "deadline_exceeded",
    );
    assert!(answer["tokens"].as_u64().unwrap() < 1_000_000, "{answer}");
    worker.start_drain();
    worker.end().0.code(0);
    let worker = site.worker(&["--ttft=1h"]);
    let answer = fails(
        &site.registry(),
        &deadline,
        "deadline_exceeded",
        "deadline_exceeded",
    );
    assert_eq!(answer["tokens"], 0);
    worker.start_drain();
    worker.end().0.code(0);
}

#[test]
fn an_instance_that_is_not_there_is_not_replaced_by_another() {
    let site = Site::new();
    let _worker = site.worker(&[]);
    let args = ["--instance=00000000000000aa"];
    fails(
        &site.registry(),
        &args,
        "unknown_endpoint",
        "does not serve",
    );
}
