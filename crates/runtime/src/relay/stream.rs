//! One request on its way through the relay.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use ringmain_client::{
    Call, CallError, ForwardCall, LocalClient, LocalRequestSink, SinkError, Waiting,
};
use ringmain_codec::EndpointId;
use ringmain_server::{Cancelled, LocalInput, Request, RequestHead};

use super::downstream::{Downstream, End};

/// Runs until the terminal is known. It is polled at the start, at the end, for cancels and input,
/// and for pieces that had to wait; pieces that did not have to never come by.
pub(super) struct RelayStream {
    down: Rc<Downstream>,
    call: ForwardCall,
    accepted: bool,
    stop: Cancelled,
    stopped: bool,
    /// Until the caller's input has ended.
    input: Option<Input>,
    /// Credit of pieces that are in the caller's queue.
    owed: u32,
}

/// Further messages of the request.
struct Input {
    from: LocalInput,
    /// Taken, and not yet sent.
    next: Option<Bytes>,
    /// Once the worker has the request. Dropping it ends the input there.
    to: Option<LocalRequestSink>,
}

impl RelayStream {
    pub(super) fn start(
        client: &LocalClient,
        target: &EndpointId,
        request: Request<LocalInput>,
        down: Rc<Downstream>,
    ) -> Result<Self, CallError> {
        let Request {
            head,
            data,
            mut input,
            context,
        } = request;
        // The first look does not wait: whether there is an input at all is known by now for a
        // request that came at once.
        let input = match input.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(None) => None,
            Poll::Ready(next) => Some((input, next)),
            Poll::Pending => Some((input, None)),
        };
        let call = call_of(client, head, data);
        let to = Rc::<Downstream>::clone(&down);
        Ok(Self {
            call: client.forward(target, call, input.is_some(), to)?,
            accepted: false,
            stop: context.stopped(),
            stopped: false,
            input: input.map(|(from, next)| Input {
                from,
                next,
                to: None,
            }),
            owed: 0,
            down,
        })
    }

    /// Moves everything that can move; the end once all of the response has been moved.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        if !self.stopped && Pin::new(&mut self.stop).poll(cx).is_ready() {
            self.stopped = true;
            self.call.stop();
        }
        if !self.accepted {
            match self.call.poll_accepted(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(End::Upstream(error.into())),
                Poll::Ready(Ok(())) => {
                    self.accepted = true;
                    self.down.sink().accept();
                }
            }
        }
        if let Poll::Ready(end) = self.poll_input(cx) {
            return Poll::Ready(end);
        }
        let moved = self.poll_waiting(cx);
        self.return_credit(cx);
        self.down.show();
        match moved {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(end)) => Poll::Ready(end),
            Poll::Ready(Ok(())) => self.call.poll_end(cx).map(End::Upstream),
        }
    }

    /// Passes the input on until there is none or no room for it; an end if it is refused.
    fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        while let Some(input) = &mut self.input {
            if input.to.is_none() {
                input.to = self.call.request_sink();
            }
            let Some(to) = &mut input.to else {
                return Poll::Pending;
            };
            let Some(next) = &input.next else {
                match input.from.poll_next(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => self.input = None,
                    Poll::Ready(next) => input.next = next,
                }
                continue;
            };
            match to.poll_send(cx, next) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => input.next = None,
                Poll::Ready(Err(SinkError::TooLarge { .. })) => {
                    let text = "a message of the request is longer than the worker takes";
                    return Poll::Ready(End::too_large(text));
                }
                // The terminal says the rest.
                Poll::Ready(Err(_)) => self.input = None,
            }
        }
        Poll::Pending
    }

    /// Moves pieces that had to wait, in order.
    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        loop {
            let mut refusal = Poll::Pending;
            let down = &self.down;
            let waiting = self.call.offer_waiting(|piece| {
                let moved = down.poll_move(cx, piece);
                let taken = matches!(moved, Poll::Ready(Ok(())));
                if let Poll::Ready(Err(end)) = moved {
                    refusal = Poll::Ready(Err(end));
                }
                taken
            });
            match waiting {
                Waiting::Nothing => return Poll::Ready(Ok(())),
                Waiting::Refused => return refusal,
                Waiting::Taken { credit } => self.owed += credit,
            }
        }
    }

    /// Returns the credit of what has left the caller's queue, and waits for the rest to leave.
    fn return_credit(&mut self, cx: &mut Context<'_>) {
        let sink = self.down.sink();
        let queued = u32::try_from(sink.buffered_bytes()).unwrap_or(u32::MAX);
        let mut left = queued.min(self.owed);
        if left > 0 && sink.poll_buffered(cx, left as usize - 1).is_ready() {
            // The caller is gone.
            left = 0;
        }
        self.call.give_back(self.owed - left);
        self.owed = left;
    }
}

/// The same request, to be made by this side.
fn call_of(client: &LocalClient, head: RequestHead, data: Bytes) -> Call {
    let mut call = Call::new(data).request_id(head.id).priority(head.priority);
    if let Some(trace) = head.trace {
        call = call.trace(trace);
    }
    if let Some(deadline) = head.deadline {
        call = call.deadline(deadline.saturating_duration_since(client.ctx().now()));
    }
    for (key, value) in head.metadata {
        call = call.metadata(key, value);
    }
    call
}
