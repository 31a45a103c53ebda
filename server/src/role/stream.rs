//! One request on its link, from OPEN to the end of its handler.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use ringmain_codec::{Priority, StreamHandle};
use ringmain_reactor::timer::TimerKey;
use ringmain_shard::{Inbox, Message, SharedInbox, StreamCell};

use crate::admission::{Arriving, Waiting};
use crate::request::RequestHead;
use crate::service::{Running, Service};
use crate::shard_state::Ticket;
use crate::terminal::Terminal;

/// Where a request is in its life.
///
/// ```text
/// Receiving ──> Waiting ──> Running ──> (gone: END sent)
///     └────────────┴───────────┘ kill, deadline, rejection, lost link
/// ```
pub(super) enum Phase {
    /// The first message is not complete.
    Receiving { _arriving: Arriving },
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
    /// The first message, if it came whole with OPEN; else the inbox puts it together.
    pub(super) first: Option<Message>,
    pub(super) inbox: Inbox,
    pub(super) input_ended: bool,
    pub(super) input_waker: Option<Waker>,
    /// Where input goes for a handler that is not on the shard.
    pub(super) shared_input: Option<Arc<SharedInbox>>,
    pub(super) reserved_bytes: usize,
    /// Credit of long messages, kept while the handler has others to take.
    pub(super) held: u32,
    pub(super) trailers: Vec<(Bytes, Bytes)>,
    /// What the handler wants said when it ends well.
    pub(super) terminal: Option<Box<Terminal>>,
    pub(super) deadline: Option<TimerKey>,
    pub(super) phase: Phase,
}

impl ServerStream {
    /// Whether the credit of a long message's piece is kept, because the handler is behind: one
    /// that reads nothing gets no more than its window and one message.
    pub(super) fn hold(&mut self, credit: u32) -> bool {
        if self.inbox.ready() > 0 {
            self.held += credit;
            return true;
        }
        self.shared_input
            .as_ref()
            .is_some_and(|shared| shared.hold(credit))
    }

    /// Tells whoever reads the input that there is news.
    pub(super) fn wake_input(&mut self) {
        if let Some(shared) = &self.shared_input {
            // Held credit has whole messages before it, so that it goes over with them.
            shared.fill(&mut self.inbox, std::mem::take(&mut self.held));
            if self.input_ended {
                shared.close();
            }
        }
        if let Some(waker) = self.input_waker.take() {
            waker.wake();
        }
    }
}
