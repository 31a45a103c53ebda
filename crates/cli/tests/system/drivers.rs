//! Which driver carries the bytes, and what is said where io_uring is refused.

use std::collections::BTreeMap;
use std::process::Command;

use ringmain_reactor::IoChoice;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::process::{Proc, ringmain};
use crate::setup::{ENDPOINT, Site, made};

/// The number of `io_uring_setup`, the same on every architecture.
const IO_URING_SETUP: i64 = 425;
/// What container runtimes answer: `EPERM`.
const EPERM: u32 = 1;

/// Both drivers, always. A host that refuses io_uring fails the test rather than letting it pass
/// unseen, unless `RINGMAIN_ALLOW_NO_URING=1` says that this is known.
pub(crate) fn drivers() -> Vec<&'static str> {
    let allowed = std::env::var_os("RINGMAIN_ALLOW_NO_URING").is_some_and(|value| value == "1");
    match IoChoice::Uring.resolve() {
        Ok(_) => vec!["uring", "epoll"],
        Err(_) if allowed => vec!["epoll"],
        Err(error) => panic!("io_uring is refused here: {error}"),
    }
}

/// Starts a command that may not set up rings, as in a container with the default filter.
fn without_rings(mut command: Command) -> Proc {
    // A filter binds the thread that applies it and what that thread starts, for ever: so a thread
    // of its own does both.
    let refused = std::thread::spawn(move || {
        let filter = SeccompFilter::new(
            BTreeMap::from([(IO_URING_SETUP, Vec::new())]),
            SeccompAction::Allow,
            SeccompAction::Errno(EPERM),
            std::env::consts::ARCH.try_into().unwrap(),
        );
        let program: BpfProgram = filter.unwrap().try_into().unwrap();
        apply_filter(&program).unwrap();
        Proc::spawn(&mut command)
    });
    refused.join().unwrap()
}

#[test]
fn each_driver_serves_and_calls() {
    for io in drivers() {
        let site = Site::new();
        let worker = site.worker(&["--io", io, "--tokens=3"]);
        assert_eq!(worker.serving["io"], io);
        let ended = site.call(&["--home=shards", "--io", io]).code(0);
        assert_eq!(ended.out, made(3) + "\n");
        assert!(ended.err.contains(io), "{ended:?}");
    }
}

#[test]
fn refused_rings_are_named_once_and_epoll_takes_over() {
    let args = [
        "demo",
        "--json",
        "--prompts=8",
        "--tokens=4",
        "--ttft=1ms",
        "--itl=1ms",
    ];
    let ended = without_rings(ringmain(args)).end().code(0);
    let named: Vec<_> = ended
        .err
        .lines()
        .filter(|line| line.contains("io_uring"))
        .collect();
    let [line] = named.as_slice() else {
        panic!("one line: {ended:?}")
    };
    assert!(
        line.contains("using epoll") && line.to_lowercase().contains("permi"),
        "{line}"
    );
    let summary = ended.json();
    assert_eq!(
        (&summary["io"], &summary["streams_failed"]),
        (&"epoll".into(), &0.into())
    );
}

#[test]
fn rings_that_were_demanded_and_are_refused_are_an_error() {
    let site = Site::new();
    let registry = site.registry();
    let listen = "--listen=127.0.0.1:0";
    let serve = [
        "serve",
        "--io=uring",
        listen,
        "--endpoint",
        ENDPOINT,
        "--registry",
        &registry,
    ];
    for command in [ringmain(["demo", "--io=uring"]), ringmain(serve)] {
        let ended = without_rings(command).end().code(2).says("io_uring");
        assert!(ended.out.is_empty(), "{ended:?}");
    }
}
