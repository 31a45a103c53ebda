//! The streams of one link as a value: codec events in, messages and terminals out.
//!
//! Both homes drive this table; neither knows protocol rules. Every stream that was opened here
//! gets exactly one terminal, whichever comes first: END, a refusal, a deadline, a kill by its
//! consumer, or the end of the link.

mod pieces;
mod stream;
mod table;
mod terminal;

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ringmain_codec::{
    ConnectionError, Event, Metadata, OpenError, OpenParams, SendError, Started, Status,
    StreamHandle,
};
use ringmain_reactor::timer::TimerKey;
use ringmain_shard::{Inbox, Link, Message, Payload};

pub use self::pieces::Piece;
pub(crate) use self::pieces::PieceMeta;
use self::stream::Stream;
pub(crate) use self::stream::{Sink, StreamKey};
use self::table::Table;
pub(crate) use self::terminal::Terminal;
use crate::call::Request;

/// The configuration's name of the reassembly budget, as errors show it.
const REASSEMBLY_LIMIT: &str = "reassembly_bytes_max";

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

/// What must be done to the link after an event was taken in.
enum Then {
    Nothing,
    Release(StreamHandle, u32),
    Kill(StreamHandle),
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
            counts: CallCounts::default(),
            news: LinkNews::default(),
        }
    }

    /// Takes in what arrived, to the last byte.
    pub(crate) fn on_bytes(
        &mut self,
        now: Instant,
        link: &mut Link,
        mut chunk: &[u8],
    ) -> Result<(), ConnectionError> {
        loop {
            let Some(event) = link.read(now, &mut chunk)? else {
                return Ok(());
            };
            match self.on_event(event) {
                Then::Nothing => {}
                Then::Release(stream, credit) => link.release(stream, credit),
                Then::Kill(stream) => link.kill(stream),
            }
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

    /// Whether the responder's handler has the request; the terminal if it ended without.
    pub(crate) fn poll_accepted(
        &mut self,
        key: StreamKey,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Terminal>> {
        let Some(stream) = self.table.find_mut(key) else {
            return Poll::Ready(Err(gone()));
        };
        if stream.accepted {
            return Poll::Ready(Ok(()));
        }
        match &stream.end {
            Some(end) if end.info.status != Status::Ok => Poll::Ready(Err(end.clone())),
            Some(_) => Poll::Ready(Ok(())),
            None => {
                register(&mut stream.waker, cx);
                Poll::Pending
            }
        }
    }

    /// The terminal once it is there; else remembers the waker. Never looks at messages.
    pub(crate) fn poll_end<M>(
        &mut self,
        key: StreamKey,
        cx: &mut Context<'_>,
    ) -> Poll<Result<M, Terminal>> {
        let Some(stream) = self.table.find_mut(key) else {
            return Poll::Ready(Err(gone()));
        };
        if let Some(end) = &stream.end {
            return Poll::Ready(Err(end.clone()));
        }
        register(&mut stream.waker, cx);
        Poll::Pending
    }

    /// The next whole message, if one is there.
    pub(crate) fn pop(&mut self, key: StreamKey) -> Option<Message> {
        self.pop_by(key, |inbox| {
            inbox.pop().map(|message| {
                let (len, credit) = (message.bytes.len(), message.credit);
                (message, len, credit)
            })
        })
        .map(|(mut message, credit)| {
            message.credit = credit;
            message
        })
    }

    /// Shows the next whole message in place; its result and the credit to give back.
    pub(crate) fn pop_with<R>(
        &mut self,
        key: StreamKey,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Option<(R, u32)> {
        self.pop_by(key, |inbox| {
            let taken = inbox.pop_with(|bytes| (read(bytes), bytes.len()));
            taken.map(|((result, len), credit)| (result, len, credit))
        })
    }

    /// The next piece and the credit to give back.
    pub(crate) fn pop_piece(&mut self, key: StreamKey) -> Option<(Piece, u32)> {
        match &mut self.table.find_mut(key)?.sink {
            Sink::Pieces(pieces) => pieces.pop(),
            Sink::Messages(_) => None,
        }
    }

    /// Offers the next piece in place, if there is one; inside, the credit to give back if it was
    /// taken.
    pub(crate) fn pop_piece_if(
        &mut self,
        key: StreamKey,
        take: impl FnOnce(&[u8], PieceMeta) -> bool,
    ) -> Option<Option<u32>> {
        match &mut self.table.find_mut(key)?.sink {
            Sink::Pieces(pieces) if !pieces.is_empty() => Some(pieces.pop_if(take)),
            _ => None,
        }
    }

    /// Returns credit of what the consumer took.
    pub(crate) fn give_back(&mut self, key: StreamKey, link: &mut Link, credit: u32) {
        if credit > 0
            && let Some(handle) = self.handle(key)
        {
            link.release(handle, credit);
        }
    }

    /// Queues a further message of the request.
    pub(crate) fn send(
        &mut self,
        key: StreamKey,
        link: &mut Link,
        message: Payload,
    ) -> Result<(), SendError> {
        let handle = self.handle(key).ok_or(SendError::Gone)?;
        link.send(handle, message)
    }

    /// Ends the request after what is queued.
    pub(crate) fn finish(&mut self, key: StreamKey, link: &mut Link) {
        if let Some(handle) = self.handle(key) {
            link.finish(handle);
        }
    }

    /// Asks the responder to finish early.
    pub(crate) fn stop(&mut self, key: StreamKey, link: &mut Link) {
        let Some(stream) = self.table.find_mut(key) else {
            return;
        };
        let Some(handle) = stream.handle else { return };
        stream.stopped = true;
        link.stop(handle);
    }

    /// Drops the stream now; its terminal says so.
    pub(crate) fn kill(&mut self, key: StreamKey, link: &mut Link) {
        self.end_here(key, link, Status::Killed, "");
    }

    /// The stream's deadline has passed.
    pub(crate) fn expire(&mut self, key: StreamKey, link: &mut Link) {
        self.end_here(key, link, Status::DeadlineExceeded, "the deadline passed");
    }

    /// As [`expire`](Self::expire), by the codec's name.
    pub(crate) fn expire_handle(&mut self, handle: StreamHandle, link: &mut Link) {
        if let Some(key) = self.table.key_of(handle) {
            // The timer that brought us here is spent.
            if let Some(stream) = self.table.find_mut(key) {
                stream.timer = None;
            }
            self.expire(key, link);
        }
    }

    /// The consumer is gone: an open stream is killed, and nothing is kept.
    pub(crate) fn release(&mut self, key: StreamKey, link: &mut Link) -> Option<T> {
        self.kill(key, link);
        self.forget(key)
    }

    /// As [`release`](Self::release) for a link that is gone already.
    pub(crate) fn forget(&mut self, key: StreamKey) -> Option<T> {
        let stream = self.table.remove(key)?;
        self.reassembly_bytes -= stream.reserved;
        if let Some(timer) = stream.timer {
            self.timers.push(timer);
        }
        Some(stream.attachment)
    }

    /// The transport is gone: everything that is open ends.
    pub(crate) fn fail_all(&mut self, link: &mut Link, status: Status, message: &str) {
        while let Some((handle, started)) = link.poll_failed() {
            if let Some(key) = self.table.key_of(handle) {
                self.end(key.index, Terminal::new(status, started, message));
            }
        }
        self.lost(status, message);
    }

    /// As [`fail_all`](Self::fail_all) when the link itself is out of reach.
    pub(crate) fn lost(&mut self, status: Status, message: &str) {
        for index in self.table.open() {
            let started = self
                .table
                .at_mut(index)
                .map_or(Started::Unknown, |s| s.started());
            self.end(index, Terminal::new(status, started, message));
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

    /// Moves what is whole to a consumer's own inbox, without a copy if the two can change places. While it has long messages waiting, their
    /// credit is kept until [`consumer_took`](Self::consumer_took).
    pub(crate) fn hand_over(&mut self, key: StreamKey, to: &mut Inbox) -> Handed {
        let Some(stream) = self.table.find_mut(key) else {
            return Handed::default();
        };
        if let Sink::Messages(inbox) = &mut stream.sink {
            if to.ready() == 0 && !stream.partial {
                std::mem::swap(inbox, to);
            } else {
                inbox.drain_into(to);
            }
        }
        stream.behind = stream.reserved > 0 && to.ready() > 0;
        Handed {
            report_empty: stream.behind,
            end: stream.end.clone(),
        }
    }

    /// A consumer elsewhere has taken all that it had, or a good part of it.
    pub(crate) fn consumer_took(&mut self, key: StreamKey, link: &mut Link, took: Took) {
        let Some(stream) = self.table.find_mut(key) else {
            return;
        };
        let freed = took.reserved_bytes.min(stream.reserved);
        stream.reserved -= freed;
        self.reassembly_bytes -= freed;
        let mut credit = took.credit;
        if took.all {
            stream.behind = false;
            credit += std::mem::take(&mut stream.held);
        }
        self.give_back(key, link, credit);
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

    fn pop_by<R>(
        &mut self,
        key: StreamKey,
        pop: impl FnOnce(&mut Inbox) -> Option<(R, usize, u32)>,
    ) -> Option<(R, u32)> {
        let stream = self.table.find_mut(key)?;
        let Sink::Messages(inbox) = &mut stream.sink else {
            return None;
        };
        let (result, len, mut credit) = pop(inbox)?;
        if inbox.ready() == 0 {
            credit += std::mem::take(&mut stream.held);
        }
        if Inbox::needs_reservation(len) {
            stream.reserved -= len;
            self.reassembly_bytes -= len;
        }
        Some((result, credit))
    }

    fn on_event(&mut self, event: Event<'_>) -> Then {
        match event {
            Event::Data {
                stream,
                piece,
                message_len,
                message_offset,
                message_end,
                credit,
                ..
            } => {
                let meta = PieceMeta {
                    message_len,
                    message_offset,
                    message_end,
                    credit,
                };
                return self.on_data(stream, piece, meta);
            }
            Event::Ready => self.news.ready = true,
            Event::Accepted { stream } => {
                if let Some(key) = self.table.key_of(stream) {
                    self.accepted(key.index);
                }
            }
            Event::End {
                stream,
                end,
                started,
            } => {
                if let Some(key) = self.table.key_of(stream) {
                    self.end(key.index, Terminal::from_end(&end, started));
                }
            }
            Event::Refused { stream, status } => {
                if let Some(key) = self.table.key_of(stream) {
                    let mut end = Terminal::new(status, Started::Yes, "");
                    if status == Status::TooLarge {
                        end.limit = Some("message_bytes_max".to_owned());
                    }
                    self.end(key.index, end);
                }
            }
            Event::StreamRefused { stream, started } => {
                if let Some(key) = self.table.key_of(stream) {
                    self.end(key.index, Terminal::new(Status::Draining, started, ""));
                }
            }
            Event::Goaway { status, .. } => self.news.goaway = Some(status),
            _ => {}
        }
        Then::Nothing
    }

    fn on_data(&mut self, handle: StreamHandle, piece: &[u8], meta: PieceMeta) -> Then {
        let Some(key) = self.table.key_of(handle) else {
            return Then::Nothing;
        };
        self.accepted(key.index);
        let Some(stream) = self.table.at_mut(key.index) else {
            return Then::Nothing;
        };
        let inbox = match &mut stream.sink {
            Sink::Messages(inbox) => inbox,
            Sink::Pieces(pieces) => {
                pieces.push(piece, meta);
                self.counts.messages += u64::from(meta.message_end);
                self.touch(key.index);
                return Then::Nothing;
            }
        };
        let len = meta.message_len.map_or(piece.len(), |len| len as usize);
        if !stream.partial && Inbox::needs_reservation(len) {
            if self.reassembly_bytes + len > self.reassembly_bytes_max {
                self.counts.reassembly_refused += 1;
                let mut end = Terminal::new(Status::Overloaded, Started::Yes, "");
                end.limit = Some(REASSEMBLY_LIMIT.to_owned());
                self.end(key.index, end);
                return Then::Kill(handle);
            }
            self.reassembly_bytes += len;
            stream.reserved += len;
        }
        let behind = stream.behind || inbox.ready() > 0;
        let taken = inbox.push(piece, meta.message_len, meta.message_end, meta.credit);
        stream.partial = !taken.message_end;
        self.counts.messages += u64::from(taken.message_end);
        if behind {
            stream.held += taken.release_now;
        }
        if taken.message_end {
            self.touch(key.index);
        }
        if behind || taken.release_now == 0 {
            return Then::Nothing;
        }
        Then::Release(handle, taken.release_now)
    }

    fn accepted(&mut self, index: u32) {
        if let Some(stream) = self.table.at_mut(index)
            && !stream.accepted
        {
            stream.accepted = true;
            self.touch(index);
        }
    }

    fn touch(&mut self, index: u32) {
        if let Some(stream) = self.table.at_mut(index)
            && !stream.touched
        {
            stream.touched = true;
            self.touched.push_back(index);
        }
    }

    /// Ends an open stream from this side.
    fn end_here(&mut self, key: StreamKey, link: &mut Link, status: Status, message: &str) {
        let Some(stream) = self.table.find_mut(key) else {
            return;
        };
        let Some(handle) = stream.handle else { return };
        let started = stream.started();
        link.kill(handle);
        self.end(key.index, Terminal::new(status, started, message));
    }

    /// Gives a stream its terminal; the first one counts.
    fn end(&mut self, index: u32, mut terminal: Terminal) {
        let Some(timer) = self.table.close(index) else {
            return;
        };
        self.timers.extend(timer);
        let status = terminal.info.status;
        match status {
            Status::Ok => self.counts.ok += 1,
            Status::Cancelled | Status::Killed => self.counts.cancelled += 1,
            _ => self.counts.failed += 1,
        }
        if let Some(stream) = self.table.at_mut(index) {
            terminal.expected = stream.stopped && status == Status::Cancelled;
            if stream.accepted {
                terminal.started = Started::Yes;
            }
            stream.end = Some(terminal);
        }
        self.touch(index);
    }
}

/// Remembers who waits, without a new waker if it is the same task.
pub(crate) fn register(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(known) => known.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}

/// What a key says whose stream was forgotten.
fn gone() -> Terminal {
    Terminal::new(Status::Internal, Started::Unknown, "stream was released")
}

#[cfg(test)]
mod tests;
