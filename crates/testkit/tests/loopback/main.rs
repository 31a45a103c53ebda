//! The plane over real sockets, on both drivers and in both homes, one module per hazard.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests, as tests do"
)]

mod cancel;
mod failure;
mod flow;
mod hostile;
mod leave;
mod remote;
mod room;
mod sizes;
mod spread;
mod steps;
mod storm;

use std::future::Future;

use ringmain_client::ResponseStream;
use ringmain_codec::Status;
use ringmain_reactor::IoChoice;
use ringmain_testkit::{HomeKind, drivers};

/// Runs a test on every driver in every home, in a runtime as a router has one.
fn everywhere<F: Future<Output = ()>>(test: impl Fn(IoChoice, HomeKind) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for io in drivers() {
        for home in HomeKind::ALL {
            eprintln!("on {io:?}, {home:?} home");
            runtime.block_on(test(io, home));
        }
    }
}

/// Reads a stream to its end: how many messages, how many bytes, and how it ended.
async fn drain(stream: &mut ResponseStream) -> (u64, u64, Status) {
    let (mut messages, mut bytes) = (0, 0);
    while let Some(item) = stream.next().await {
        match item {
            Ok(message) => {
                messages += 1;
                bytes += message.len() as u64;
            }
            Err(error) => return (messages, bytes, error.status),
        }
    }
    let status = stream.end().map_or(Status::Internal, |end| end.status());
    (messages, bytes, status)
}
