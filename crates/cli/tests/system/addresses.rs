//! Where workers listen, what they tell callers, and how callers find them.

use crate::process::Proc;
use crate::setup::{ENDPOINT, Site, Worker, made, start_call};

/// An address that the workers of these tests can be told to listen on.
fn answers(site: &Site, listen: &str, args: &[&str]) -> String {
    let args: Vec<_> = args.iter().copied().chain(["--tokens=3"]).collect();
    let worker = site.worker_at(listen, &args);
    let ended = site.call(&[]).code(0);
    assert_eq!(ended.out, made(3) + "\n", "{}", worker.serving);
    worker.address().to_owned()
}

#[test]
fn unix_sockets_and_ipv6_are_addresses() {
    let site = Site::new();
    let socket = format!("unix:{}", site.path().join("worker.sock").display());
    assert_eq!(answers(&site, &socket, &[]), socket);
    let told = answers(&Site::new(), "[::1]:0", &[]);
    assert!(
        told.starts_with("[::1]:") && !told.ends_with(":0"),
        "{told}"
    );
}

#[test]
fn a_wildcard_is_never_told() {
    for (listen, wildcard) in [("0.0.0.0:0", "0.0.0.0:"), ("[::]:0", "[::]:")] {
        let told = answers(&Site::new(), listen, &[]);
        assert!(
            !told.starts_with(wildcard) && !told.ends_with(":0"),
            "{told}"
        );
        let told = answers(&Site::new(), listen, &["--advertise=127.0.0.1"]);
        assert!(
            told.starts_with("127.0.0.1:") && !told.ends_with(":0"),
            "{told}"
        );
        let told = answers(&Site::new(), listen, &["--advertise=lo"]);
        assert!(
            told.starts_with("127.0.0.1:") || told.starts_with("[::1]:"),
            "{told}"
        );
    }
}

#[test]
fn an_address_that_cannot_be_told_or_taken_is_a_clear_error() {
    let site = Site::new();
    let registry = site.registry();
    let serve = |listen: &str, advertise: &str| {
        let args = [
            "serve",
            "--endpoint",
            ENDPOINT,
            "--registry",
            &registry,
            "--listen",
            listen,
        ];
        Proc::start(args.iter().chain(&["--advertise", advertise]))
            .end()
            .code(2)
    };
    serve("0.0.0.0:0", "0.0.0.0").says("0.0.0.0");
    serve("0.0.0.0:0", "no-such-interface0").says("no-such-interface0");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let _worker = site.worker(&[]);
    let first = Site::new();
    let holder = first.worker(&[]);
    serve(holder.address(), "127.0.0.1").says("cannot listen on");
    drop(taken);
}

#[test]
fn several_listeners_of_one_worker() {
    let site = Site::new();
    let socket = format!("unix:{}", site.path().join("worker.sock").display());
    let worker = site.worker(&["--listen", &socket, "--tokens=2"]);
    assert_eq!(worker.serving["addresses"].as_array().unwrap().len(), 2);
    for address in worker.serving["addresses"].as_array().unwrap() {
        let list = site.list(ENDPOINT, address.as_str().unwrap());
        let ended = start_call(&list, &[]).end().code(0);
        assert_eq!(ended.out, made(2) + "\n", "{address}");
    }
}

#[test]
fn a_list_kept_by_hand_names_the_worker() {
    let site = Site::new();
    let socket = format!("unix:{}", site.path().join("worker.sock").display());
    let list = site.list(ENDPOINT, &socket);
    let worker = Worker::start(&list, &socket, &["--tokens=3"]);
    for home in ["--home=inline", "--home=shards"] {
        assert_eq!(start_call(&list, &[home]).end().code(0).out, made(3) + "\n");
    }
    worker.start_drain();
    worker.end().0.code(0);
}
