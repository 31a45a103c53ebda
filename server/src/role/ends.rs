//! How a stream ends on the serving side.

use ringmain_codec::{EndParams, Metadata, Status, StreamHandle};
use ringmain_shard::{Link, ShardCtx};
use ringmain_telemetry::Counter;

use super::ServerLink;
use super::stream::Phase;
use crate::error::HandlerError;
use crate::terminal::Terminal;

/// How a handler ended.
pub(crate) enum Outcome {
    Done,
    Failed(HandlerError),
    Panicked,
}

impl ServerLink {
    /// Sends the terminal of a handler that has ended, behind what it sent.
    pub(crate) fn handler_ended(
        &mut self,
        ctx: &ShardCtx,
        link: &mut Link,
        stream: StreamHandle,
        outcome: &Outcome,
    ) {
        let Some(taken) = self.take(ctx, stream) else {
            return;
        };
        let stopped = taken.cell.is_stopped();
        taken.cell.set_closed();
        let terminal = match outcome {
            Outcome::Done => match taken.terminal {
                Some(terminal) => *terminal,
                None if stopped => Terminal::new(Status::Cancelled, ""),
                None => Terminal::new(Status::Ok, ""),
            },
            Outcome::Failed(error) => Terminal::new(error.status, error.message.as_str()),
            Outcome::Panicked => Terminal::new(Status::HandlerPanicked, "the handler panicked"),
        };
        ctx.count(ended_counter(terminal.status), 1);
        if matches!(outcome, Outcome::Panicked) {
            ctx.count(Counter::HandlerPanics, 1);
        }
        let mut buf = Vec::new();
        let pairs = taken.trailers.iter().map(|(key, value)| (key, value));
        let trailers = Metadata::encode_pairs(pairs, &mut buf).unwrap_or_else(|rule| {
            tracing::warn!(%rule, "stream.trailers_dropped");
            Metadata::default()
        });
        link.end(stream, terminal.end(trailers));
    }

    /// Ends a stream without its handler: kill, deadline, rejection.
    pub(super) fn abort(
        &mut self,
        ctx: &ShardCtx,
        link: &mut Link,
        stream: StreamHandle,
        end: EndParams<'_>,
    ) {
        let Some(taken) = self.take(ctx, stream) else {
            return;
        };
        let started = matches!(taken.phase, Phase::Running { .. });
        if started {
            ctx.count(ended_counter(end.status), 1);
        } else if let Some(counter) = rejected_counter(end.status) {
            ctx.count(counter, 1);
        }
        taken.cell.set_killed();
        taken.cell.set_closed();
        link.end(
            stream,
            EndParams {
                discard_queued: true,
                ..end
            },
        );
    }
}

/// The outcome counter of a stream that had started.
pub(super) const fn ended_counter(status: Status) -> Counter {
    match status {
        Status::Ok => Counter::StreamsOk,
        Status::Cancelled | Status::Killed => Counter::StreamsCancelled,
        _ => Counter::StreamsFailed,
    }
}

/// The reason counter of a stream that was turned away.
pub(crate) const fn rejected_counter(status: Status) -> Option<Counter> {
    match status {
        Status::Overloaded => Some(Counter::StreamsRejectedOverloaded),
        Status::Draining => Some(Counter::StreamsRejectedDraining),
        Status::UnknownEndpoint => Some(Counter::StreamsRejectedUnknownEndpoint),
        Status::DeadlineExceeded => Some(Counter::StreamsRejectedDeadline),
        _ => None,
    }
}
