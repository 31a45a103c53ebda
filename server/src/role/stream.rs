//! One request on its link, from OPEN to the end of its handler.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use ringmain_codec::{Priority, StreamHandle};
use ringmain_reactor::timer::TimerKey;
use ringmain_shard::{Inbox, SharedInbox, StreamCell};

use crate::admission::Waiting;
use crate::request::RequestHead;
use crate::service::{Running, Service};
use crate::shard_state::Ticket;

/// Where a request is in its life.
///
/// ```text
/// Receiving ──> Waiting ──> Running ──> (gone: END sent)
///     └────────────┴───────────┘ kill, deadline, rejection, lost link
/// ```
pub(super) enum Phase {
    /// The first message is not complete.
    Receiving,
    /// Complete, in the queue for a handler slot.
    Waiting { _place: Waiting, ticket: Ticket },
    /// The handler has been called.
    Running { _handler: Running },
}

/// One open stream of a link.
pub(super) struct ServerStream {
    pub(super) stream: StreamHandle,
    pub(super) service: Rc<dyn Service>,
    /// Taken when the handler is called.
    pub(super) head: Option<RequestHead>,
    pub(super) priority: Priority,
    pub(super) cell: Arc<StreamCell>,
    pub(super) inbox: Inbox,
    pub(super) input_ended: bool,
    pub(super) input_waker: Option<Waker>,
    /// Where input goes for a handler that is not on the shard.
    pub(super) shared_input: Option<Arc<SharedInbox>>,
    pub(super) reserved_bytes: usize,
    pub(super) trailers: Vec<(Bytes, Bytes)>,
    pub(super) deadline: Option<TimerKey>,
    pub(super) phase: Phase,
}

impl ServerStream {
    /// Tells whoever reads the input that there is news.
    pub(super) fn wake_input(&mut self) {
        if let Some(shared) = &self.shared_input {
            shared.fill(&mut self.inbox);
            if self.input_ended {
                shared.close();
            }
        }
        if let Some(waker) = self.input_waker.take() {
            waker.wake();
        }
    }
}
