//! Where a client's links live: on pinned shards, or inside the caller's tokio runtime.

pub(crate) mod batch;
#[cfg(feature = "inline")]
pub(crate) mod inline;
pub(crate) mod shards;

use ringmain_codec::Status;
use ringmain_shard::LinkDown;
use ringmain_telemetry::Counter;

use crate::calls::CallCounts;
use crate::error::ConnectErrorKind;
use crate::pool::DialFailure;

/// What the streams of a link that ended this way are told.
pub(crate) fn down_status(down: &LinkDown) -> (Status, String) {
    match down {
        LinkDown::Dial(kind, message) => (Status::ConnectionLost, format!("{kind}: {message}")),
        LinkDown::Transport(kind) => (Status::ConnectionLost, kind.to_string()),
        LinkDown::Protocol(error) => (error.status(), error.to_string()),
        LinkDown::Local => (Status::ConnectionLost, "closed by this side".to_owned()),
        _ => (Status::ConnectionLost, "closed by the peer".to_owned()),
    }
}

/// What a link that ended this way before its handshake means to those who wait for it.
pub(crate) fn dial_failure(down: &LinkDown) -> DialFailure {
    use ringmain_codec::ConnectionError as E;
    match down {
        LinkDown::Dial(kind, message) => DialFailure::io(*kind, message.clone()),
        LinkDown::Transport(kind) => DialFailure::new(ConnectErrorKind::Reset, kind.to_string()),
        LinkDown::Protocol(error) => {
            let kind = match error {
                E::HandshakeTimeout | E::PeerUnresponsive => ConnectErrorKind::TimedOut,
                E::StaleInstance { .. } | E::PeerClosed(Status::StaleInstance) => {
                    ConnectErrorKind::StaleInstance
                }
                E::PeerClosed(Status::Draining) => ConnectErrorKind::Draining,
                E::PeerClosed(_) | E::Closed => ConnectErrorKind::Reset,
                _ => ConnectErrorKind::Protocol,
            };
            DialFailure::new(kind, error.to_string())
        }
        _ => DialFailure::new(ConnectErrorKind::Reset, ""),
    }
}

/// Adds what happened on a link to the process's counters.
pub(crate) fn publish(counts: CallCounts, mut add: impl FnMut(Counter, u64)) {
    let pairs = [
        (Counter::StreamsStarted, counts.started),
        (Counter::StreamsOk, counts.ok),
        (Counter::StreamsCancelled, counts.cancelled),
        (Counter::StreamsFailed, counts.failed),
        (Counter::TokensReceived, counts.messages),
        (Counter::QueueFull, counts.reassembly_refused),
    ];
    for (counter, n) in pairs {
        if n > 0 {
            add(counter, n);
        }
    }
}
