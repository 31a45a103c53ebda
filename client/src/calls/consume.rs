//! What consumers take, and the credit that they return.

use std::task::{Context, Poll};

use ringmain_codec::{Started, Status};
use ringmain_shard::{Inbox, Link, Message};

use super::{Calls, Handed, Piece, PieceMeta, Sink, StreamKey, Terminal, Took, register};

impl<T> Calls<T> {
    /// Whether the responder's handler has the request; the terminal if it ended without.
    pub(crate) fn poll_accepted(
        &mut self,
        key: StreamKey,
        cx: &Context<'_>,
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
        cx: &Context<'_>,
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

    /// As [`pop_piece_if`](Self::pop_piece_if), as a value that may be kept without a copy.
    pub(crate) fn pop_piece_value_if(
        &mut self,
        key: StreamKey,
        take: impl FnOnce(&Piece) -> bool,
    ) -> Option<Option<u32>> {
        match &mut self.table.find_mut(key)?.sink {
            Sink::Pieces(pieces) if !pieces.is_empty() => Some(pieces.pop_value_if(take)),
            _ => None,
        }
    }

    /// Returns credit of what the consumer took.
    pub(crate) fn give_back(&self, key: StreamKey, link: &mut Link, credit: u32) {
        if credit > 0
            && let Some(handle) = self.handle(key)
        {
            link.release(handle, credit);
        }
    }

    /// Moves what is whole to a consumer's own inbox, without a copy if the two can change places.
    /// While it has long messages waiting, their credit is kept until
    /// [`consumer_took`](Self::consumer_took).
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
}

/// What a key says whose stream was forgotten.
fn gone() -> Terminal {
    Terminal::new(Status::Internal, Started::Unknown, "stream was released")
}
