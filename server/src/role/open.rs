//! From OPEN to the call of the handler.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ringmain_codec::{EndParams, Open, Status, StreamHandle};
use ringmain_shard::{Inbox, Link, LinkKey, Message, ShardCtx};
use ringmain_telemetry::{Counter, Gauge};

use super::ServerLink;
use super::ends::rejected_counter;
use super::input::{NO_ROOM, Piece, reserve};
use super::stream::{Phase, ServerStream};
use crate::admission::{Admitted, Arriving, Permit};
use crate::request::{Context, RequestHead};
use crate::service::{Service, Start};
use crate::sink::StreamKey;

/// Why a request was turned away before anything ran.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal {
    status: Status,
    message: &'static str,
    limit: Option<&'static str>,
    retry_after: Option<Duration>,
}

impl Refusal {
    const fn new(status: Status, message: &'static str) -> Self {
        Self {
            status,
            message,
            limit: None,
            retry_after: None,
        }
    }

    fn end(&self) -> EndParams<'static> {
        EndParams {
            message: self.message,
            limit: self.limit,
            retry_after: self.retry_after,
            discard_queued: true,
            ..EndParams::new(self.status)
        }
    }

    pub(super) fn answer(&self, ctx: &ShardCtx, link: &mut Link, stream: StreamHandle) {
        if let Some(counter) = rejected_counter(self.status) {
            ctx.count(counter, 1);
        }
        link.end(stream, self.end());
    }
}

/// A request whose endpoint is served here.
pub(super) struct Opening {
    head: RequestHead,
    service: Rc<dyn Service>,
    arriving: Arriving,
}

impl ServerLink {
    /// Looks the endpoint up and copies what the handler will see.
    pub(super) fn opening(
        &self,
        ctx: &ShardCtx,
        _stream: StreamHandle,
        open: &Open<'_>,
    ) -> Result<Opening, Refusal> {
        let Some(arriving) = self.shard.admission().arrive() else {
            return Err(Refusal::new(Status::Draining, "this instance is draining"));
        };
        let Some((endpoint, service)) = self.shard.find(open.endpoint) else {
            let message = "no such endpoint on this instance";
            return Err(Refusal::new(Status::UnknownEndpoint, message));
        };
        if open.deadline == Some(Duration::ZERO) {
            let message = "the deadline had passed on arrival";
            return Err(Refusal::new(Status::DeadlineExceeded, message));
        }
        let head = RequestHead::new(open, endpoint, ctx.now());
        Ok(Opening {
            head,
            service,
            arriving,
        })
    }

    /// Enters the stream with its first bytes; the credit to return at once.
    pub(super) fn opened(
        &mut self,
        ctx: &ShardCtx,
        stream: StreamHandle,
        opening: Result<Opening, Refusal>,
        first: Option<Piece<'_>>,
    ) -> Result<u32, Refusal> {
        let Opening {
            head,
            service,
            arriving,
        } = opening?;
        let mut entry = ServerStream {
            stream,
            service,
            priority: head.priority,
            head: Some(head),
            cell: Arc::default(),
            first: None,
            inbox: Inbox::default(),
            input_ended: false,
            input_waker: None,
            shared_input: None,
            reserved_bytes: 0,
            held: 0,
            trailers: Vec::new(),
            terminal: None,
            deadline: None,
            phase: Phase::Receiving {
                _arriving: arriving,
            },
        };
        let mut release = 0;
        if let Some(piece) = first
            && piece.message_end
            && !Inbox::needs_reservation(piece.bytes.len())
        {
            // As most requests come: nothing to put together.
            entry.first = Some(Message {
                bytes: Bytes::copy_from_slice(piece.bytes),
                credit: piece.credit,
            });
        } else if let Some(piece) = first {
            if !reserve(&self.shard, ctx, &mut entry, piece.len) {
                return Err(Refusal {
                    limit: Some("reassembly_bytes_max"),
                    retry_after: Some(self.shard.config().retry_after),
                    ..Refusal::new(Status::Overloaded, NO_ROOM)
                });
            }
            let inbox = &mut entry.inbox;
            let taken = inbox.push(piece.bytes, piece.len, piece.message_end, piece.credit);
            release = taken.release_now;
            if taken.message_end {
                let reserved = std::mem::take(&mut entry.reserved_bytes);
                self.shard.unreserve(ctx, reserved);
            }
        } else {
            // A call that only streams its input has an empty first message.
            entry.first = Some(Message {
                bytes: Bytes::new(),
                credit: 0,
            });
        }
        ctx.cells().gauge_add(Gauge::StreamsOpen, 1);
        self.put(entry);
        Ok(release)
    }

    /// Once the first message is whole: a slot, a place in the queue, or a refusal.
    pub(super) fn first_message(
        &mut self,
        ctx: &ShardCtx,
        key: LinkKey,
        link: &mut Link,
        stream: StreamHandle,
    ) {
        let admission = Arc::clone(self.shard.admission());
        let retry_after = self.shard.config().retry_after;
        let Some(found) = self.find(stream) else {
            return;
        };
        // From the first byte on: one that arrives too slowly is over in time as well.
        if found.deadline.is_none()
            && let Some(deadline) = found.head.as_ref().and_then(|head| head.deadline)
        {
            found.deadline = Some(ctx.set_stream_timer(key, stream, deadline));
        }
        let whole = matches!(found.phase, Phase::Receiving { .. })
            && (found.first.is_some() || found.inbox.ready() > 0);
        if !whole {
            return;
        }
        let key = StreamKey { link: key, stream };
        match admission.admit() {
            Admitted::Run(permit) => self.call(ctx, link, key, permit),
            Admitted::Wait(place) => {
                let priority = found.priority;
                let ticket = self.shard.enqueue(ctx, key, priority);
                if let Some(found) = self.find(stream) {
                    found.phase = Phase::Waiting {
                        _place: place,
                        ticket,
                    };
                }
            }
            Admitted::Refuse(limit) => {
                ctx.count(Counter::QueueFull, 1);
                let refusal = Refusal {
                    limit: Some(limit),
                    retry_after: Some(retry_after),
                    ..Refusal::new(Status::Overloaded, "every handler slot is taken")
                };
                self.abort(ctx, link, stream, refusal.end());
            }
        }
    }

    /// Calls the handler of a waiting request; false if the request is no longer there.
    pub(crate) fn call_waiting(
        &mut self,
        ctx: &ShardCtx,
        link: &mut Link,
        key: StreamKey,
        permit: Permit,
    ) -> bool {
        let waits = self
            .find(key.stream)
            .is_some_and(|found| matches!(found.phase, Phase::Waiting { .. }));
        if waits {
            self.call(ctx, link, key, permit);
        }
        waits
    }

    fn call(&mut self, ctx: &ShardCtx, link: &mut Link, key: StreamKey, permit: Permit) {
        let sink_bytes_max = self.shard.config().sink_bytes_max;
        let Some(found) = self.find(key.stream) else {
            return;
        };
        let first = found.first.take().or_else(|| found.inbox.pop());
        let (Some(head), Some(first)) = (found.head.take(), first) else {
            unreachable!("a request is called once, with its first message whole");
        };
        let mut credit = first.credit;
        if found.inbox.ready() == 0 {
            credit += std::mem::take(&mut found.held);
        }
        link.release(key.stream, credit);
        if !found.service.accepts_late() {
            link.accept(key.stream);
        }
        ctx.count(Counter::StreamsStarted, 1);
        let start = Start {
            ctx,
            key,
            head,
            data: first.bytes,
            context: Context::new(Arc::clone(&found.cell)),
            cell: Arc::clone(&found.cell),
            permit,
            sink_bytes_max,
        };
        let started = Rc::clone(&found.service).start(start);
        found.shared_input = started.input;
        found.phase = Phase::Running {
            _handler: started.running,
        };
        found.wake_input();
    }
}
