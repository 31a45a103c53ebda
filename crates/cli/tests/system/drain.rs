//! SIGTERM: what runs may end, what is new goes elsewhere.

use rustix::process::Signal;

use crate::setup::{ENDLESS, ENDPOINT, Site, start_call, streaming};

#[test]
fn running_streams_finish_and_new_calls_are_turned_away() {
    let site = Site::new();
    let worker = site.worker(&[ENDLESS]);
    let list = site.list(ENDPOINT, worker.address());
    let running = streaming(site.start_call(&[]));
    worker.start_drain();
    // By the registry it is gone; by a list it still has its address.
    let answer = site.call(&["--json", "--wait=0ms"]).code(1).json();
    let status = answer["status"].as_str().unwrap();
    assert!(
        ["unknown_endpoint", "draining"].contains(&status),
        "{answer}"
    );
    let answer = start_call(&list, &["--json"]).end().code(1).json();
    let status = answer["status"].as_str().unwrap();
    assert!(
        ["draining", "connection_lost"].contains(&status),
        "{answer}"
    );
    assert_eq!(
        (&answer["started"], &answer["error"]["retryable"]),
        (&"no".into(), &true.into())
    );
    // The stream that was there goes on until its caller has enough.
    let before = running.out().len();
    running.wait_out("more tokens", |out| out.len() > before);
    running.signal(Signal::INT);
    running.end().code(0);
    let (ended, stopped) = worker.end();
    ended.code(0);
    assert_eq!(
        (&stopped["drain_clean"], &stopped["cut_off"]),
        (&true.into(), &0.into())
    );
}

#[test]
fn an_answer_in_the_making_is_made_whole() {
    let site = Site::new();
    let worker = site.worker(&["--tokens=100"]);
    let running = streaming(site.start_call(&[]));
    worker.start_drain();
    assert_eq!(running.end().code(0).out, crate::setup::made(100) + "\n");
    worker.end().0.code(0);
}

#[test]
fn a_second_signal_ends_at_once() {
    let site = Site::new();
    let worker = site.worker(&[ENDLESS, "--drain-timeout=1h"]);
    let running = streaming(site.start_call(&[]));
    worker.start_drain();
    worker.process.signal(Signal::TERM);
    let (ended, stopped) = worker.end();
    ended.code(1);
    assert_eq!(
        (&stopped["drain_clean"], &stopped["cut_off"]),
        (&false.into(), &1.into())
    );
    running.end().code(1).says("started: yes");
}

#[test]
fn a_drain_that_takes_too_long_says_how_many_it_cut_off() {
    let site = Site::new();
    let worker = site.worker(&[ENDLESS, "--drain-timeout=100ms"]);
    let running = [
        streaming(site.start_call(&[])),
        streaming(site.start_call(&[])),
    ];
    worker.start_drain();
    let (ended, stopped) = worker.end();
    ended.code(1);
    assert_eq!(
        (&stopped["drain_clean"], &stopped["cut_off"]),
        (&false.into(), &2.into())
    );
    for call in running {
        call.end().code(1).says("started: yes");
    }
}
