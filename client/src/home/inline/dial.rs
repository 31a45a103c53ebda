//! Dials, each a task of the runtime that the call was made in.

use std::sync::Weak;

use ringmain_codec::InstanceId;
use ringmain_shard::Link;
use ringmain_telemetry::Counter;

use super::connect::Transport;
use super::link::LinkRef;
use super::{InlineHome, flusher, now, reader, runtime};
use crate::error::ConnectErrorKind;
use crate::pool::{Dial, DialFailure};

/// Starts a dial; its outcome is told to the pool, on every exit.
pub(super) fn start(home: &Weak<InlineHome>, dial: Dial) {
    let guard = Outcome {
        home: home.clone(),
        dial: Some(dial),
    };
    match runtime() {
        Some(runtime) => {
            runtime.spawn(run(guard));
        }
        None => guard.fail(&DialFailure::new(
            ConnectErrorKind::Unreachable,
            "no tokio runtime",
        )),
    }
}

async fn run(mut guard: Outcome) {
    let Some(home) = guard.home.upgrade() else {
        return;
    };
    let Some(dial) = &guard.dial else { return };
    let (connect, config) = (home.connect.clone(), home.config.clone());
    let telemetry = home.telemetry.clone();
    home.count(Counter::Dials, 1);
    drop(home);
    let started = now();
    let mut failure = DialFailure::new(ConnectErrorKind::Unreachable, "no address");
    let mut transport: Option<Transport> = None;
    for address in &dial.target.addresses {
        let left = config.connect_timeout.saturating_sub(now() - started);
        match tokio::time::timeout(left, connect.connect(address)).await {
            Ok(Ok(connected)) => {
                transport = Some(connected);
                break;
            }
            Ok(Err(error)) => {
                failure = DialFailure::io(error.kind(), format!("{address}: {error}"));
            }
            Err(_) => {
                failure = DialFailure::new(ConnectErrorKind::TimedOut, address.to_string());
                break;
            }
        }
    }
    let Some((reader, writer)) = transport else {
        return guard.fail(&failure);
    };
    let Some(dial) = guard.dial.take() else {
        return;
    };
    let mut codec = config.connection(dial.target.expected);
    codec.handshake_timeout = config.connect_timeout.saturating_sub(now() - started);
    let link = Link::new(codec, now());
    let instance: InstanceId = dial.target.instance;
    let link = LinkRef::new(
        (guard.home.clone(), telemetry),
        dial.key,
        instance,
        link,
        config.reassembly_bytes_max,
    );
    let (flush, _) = link.notify();
    flush.notify_one();
    tokio::spawn(flusher::run(link.clone(), writer));
    tokio::spawn(reader::run(link, reader));
}

/// Tells the pool that a dial failed unless a link has taken it over.
struct Outcome {
    home: Weak<InlineHome>,
    dial: Option<Dial>,
}

impl Outcome {
    fn fail(mut self, failure: &DialFailure) {
        self.report(failure);
    }

    fn report(&mut self, failure: &DialFailure) {
        if let Some(dial) = self.dial.take()
            && let Some(home) = self.home.upgrade()
        {
            home.count(Counter::DialFailures, 1);
            tracing::debug!(instance = %dial.target.instance, kind = %failure.kind, "dial.failed");
            home.with_pool(|pool| pool.dial_failed(dial.key, failure, now()));
        }
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        self.report(&DialFailure::new(
            ConnectErrorKind::Reset,
            "the runtime has ended",
        ));
    }
}
