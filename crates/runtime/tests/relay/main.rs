//! Requests through a relay over real sockets, on both drivers, one module per hazard.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests, as tests do"
)]

#[path = "../plane/mod.rs"]
mod plane;

mod ends;
mod flow;
mod input;
mod sizes;

use std::future::Future;

use ringmain_client::ResponseStream;
use ringmain_codec::Status;
use ringmain_reactor::IoChoice;
use ringmain_testkit::drivers;

/// Runs a test on every driver.
fn everywhere<F: Future<Output = ()>>(test: impl Fn(IoChoice) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for io in drivers() {
        eprintln!("on {io:?}");
        runtime.block_on(test(io));
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
