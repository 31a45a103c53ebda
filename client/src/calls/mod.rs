//! The streams of one link as a value: codec events in, messages and terminals out.
//!
//! Both homes drive this table; neither knows protocol rules. Every stream that was opened here
//! gets exactly one terminal, whichever comes first: END, a refusal, a deadline, a kill by its
//! consumer, or the end of the link.

mod consume;
mod ends;
mod forward;
mod pieces;
mod receive;
mod stream;
mod table;
mod terminal;

use std::collections::VecDeque;
use std::task::{Context, Waker};
use std::time::Instant;

use ringmain_codec::{Metadata, OpenError, OpenParams, SendError, Status, StreamHandle};
use ringmain_reactor::timer::TimerKey;
use ringmain_shard::{Inbox, Link, Payload};

pub(crate) use self::forward::Attachment;
pub use self::forward::{Forward, Offered};
pub(crate) use self::pieces::PieceMeta;
pub use self::pieces::{Piece, PieceRef};
use self::stream::Stream;
pub(crate) use self::stream::{Sink, StreamKey};
use self::table::Table;
pub(crate) use self::terminal::Terminal;
use crate::call::Request;

/// Inboxes that a link keeps for its next streams, and their memory.
const SPARE_MAX: usize = 1024;
const SPARE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What happened since it was last asked; the home adds it to the process's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCounts {
    pub(crate) started: u64,
    pub(crate) ok: u64,
    pub(crate) cancelled: u64,
    pub(crate) failed: u64,
    pub(crate) messages: u64,
    pub(crate) reassembly_refused: u64,
}

impl CallCounts {
    /// Streams that got their terminal.
    pub(crate) const fn ended(&self) -> u64 {
        self.ok + self.cancelled + self.failed
    }
}

/// What the link itself told since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkNews {
    /// The handshake is done.
    pub(crate) ready: bool,
    /// The peer takes no new streams.
    pub(crate) goaway: Option<Status>,
}

/// What a consumer elsewhere gets beside its messages.
#[derive(Debug, Default)]
pub(crate) struct Handed {
    /// It must tell when it has taken everything.
    pub(crate) report_empty: bool,
    pub(crate) end: Option<Terminal>,
}

/// What a consumer elsewhere tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Took {
    pub(crate) credit: u32,
    /// Bytes of long messages.
    pub(crate) reserved_bytes: usize,
    /// Nothing is left with it.
    pub(crate) all: bool,
}

/// The streams that this side opened on one link.
#[derive(Debug)]
pub(crate) struct Calls<T> {
    table: Table<T>,
    /// Streams with news since the last look, each once.
    touched: VecDeque<u32>,
    /// Timers of streams that ended by themselves.
    timers: Vec<TimerKey>,
    reassembly_bytes: usize,
    reassembly_bytes_max: usize,
    /// Inboxes of streams that have ended, for the next ones.
    spare: Vec<Inbox>,
    spare_bytes: usize,
    counts: CallCounts,
    news: LinkNews,
}

impl<T> Calls<T> {
    pub(crate) fn new(reassembly_bytes_max: usize) -> Self {
        Self {
            table: Table::default(),
            touched: VecDeque::new(),
            timers: Vec::new(),
            reassembly_bytes: 0,
            reassembly_bytes_max,
            spare: Vec::new(),
            spare_bytes: 0,
            counts: CallCounts::default(),
            news: LinkNews::default(),
        }
    }

    /// A place for whole messages, in the memory of a stream that has ended if there is one.
    pub(crate) fn messages(&mut self) -> Sink {
        let spare = self.spare.pop();
        self.spare_bytes -= spare.as_ref().map_or(0, Inbox::block_bytes);
        Sink::Messages(spare.unwrap_or_default())
    }

    fn keep(&mut self, mut inbox: Inbox) {
        let bytes = inbox.block_bytes();
        if self.spare.len() < SPARE_MAX && self.spare_bytes + bytes <= SPARE_BYTES_MAX {
            inbox.reset();
            self.spare_bytes += bytes;
            self.spare.push(inbox);
        }
    }

    /// Opens a stream; its OPEN leaves with the link's next output.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        link: &mut Link,
        open: &OpenParams<'_>,
        request: (Option<Payload>, bool),
        (sink, attachment): (Sink, T),
    ) -> Result<StreamKey, OpenError> {
        let (payload, end_request) = request;
        let handle = link.open(now, open, payload, end_request)?;
        self.counts.started += 1;
        Ok(self
            .table
            .insert(handle, Stream::new(handle, sink, attachment)))
    }

    /// Opens a stream for a call's request.
    pub(crate) fn open_request(
        &mut self,
        now: Instant,
        link: &mut Link,
        request: &Request,
        sink: Sink,
        attachment: T,
    ) -> Result<StreamKey, OpenError> {
        let open = OpenParams {
            request_id: request.request_id,
            deadline: request
                .deadline
                .map(|deadline| deadline.saturating_duration_since(now)),
            priority: request.priority,
            trace: request.trace,
            endpoint: request.endpoint.as_str(),
            metadata: Metadata::parse(&request.metadata).unwrap_or_default(),
        };
        // A streamed request without first bytes starts with its first message.
        let empty = request.streaming && request.data.is_empty();
        let payload = (!empty).then(|| Payload::from(request.data.clone()));
        self.open(
            now,
            link,
            &open,
            (payload, !request.streaming),
            (sink, attachment),
        )
    }

    /// The timer that the stream's end must cancel.
    pub(crate) fn set_timer(&mut self, key: StreamKey, timer: TimerKey) {
        match self.table.find_mut(key) {
            Some(stream) if stream.handle.is_some() => stream.timer = Some(timer),
            _ => self.timers.push(timer),
        }
    }

    /// The codec's name of a stream that is still open there.
    pub(crate) fn handle(&self, key: StreamKey) -> Option<StreamHandle> {
        self.table.find(key)?.handle
    }

    /// Queues a further message of the request.
    pub(crate) fn send(
        &self,
        key: StreamKey,
        link: &mut Link,
        message: Payload,
    ) -> Result<(), SendError> {
        let handle = self.handle(key).ok_or(SendError::Gone)?;
        link.send(handle, message)
    }

    /// Ends the request after what is queued.
    pub(crate) fn finish(&self, key: StreamKey, link: &mut Link) {
        if let Some(handle) = self.handle(key) {
            link.finish(handle);
        }
    }

    /// Streams that are open at the codec.
    pub(crate) fn streams_open(&self) -> usize {
        self.table.streams_open()
    }

    pub(crate) fn attachment_mut(&mut self, key: StreamKey) -> Option<&mut T> {
        self.table
            .find_mut(key)
            .map(|stream| &mut stream.attachment)
    }

    /// Keys of the streams with news, each once, oldest first.
    pub(crate) fn next_touched(&mut self) -> Option<StreamKey> {
        while let Some(index) = self.touched.pop_front() {
            if let Some(stream) = self.table.at_mut(index) {
                stream.touched = false;
                return Some(self.table.key_at(index));
            }
        }
        None
    }

    /// Wakers of the streams with news, to be fired once no lock is held.
    #[cfg(feature = "inline")]
    pub(crate) fn take_wakers(&mut self, wakers: &mut Vec<Waker>) {
        while let Some(key) = self.next_touched() {
            wakers.extend(self.take_waker(key));
        }
    }

    pub(crate) fn take_waker(&mut self, key: StreamKey) -> Option<Waker> {
        self.table.find_mut(key)?.waker.take()
    }

    /// Timers of streams that have ended; the home cancels them.
    pub(crate) fn next_spent_timer(&mut self) -> Option<TimerKey> {
        self.timers.pop()
    }

    pub(crate) fn take_counts(&mut self) -> CallCounts {
        std::mem::take(&mut self.counts)
    }

    pub(crate) fn take_news(&mut self) -> LinkNews {
        std::mem::take(&mut self.news)
    }

    fn touch(&mut self, index: u32) {
        if let Some(stream) = self.table.at_mut(index)
            && !stream.touched
        {
            stream.touched = true;
            self.touched.push_back(index);
        }
    }
}

/// Remembers who waits, without a new waker if it is the same task.
pub(crate) fn register(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(known) => known.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}

#[cfg(test)]
mod tests;
