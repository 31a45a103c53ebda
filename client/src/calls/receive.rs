//! Bytes in, streams' inboxes and terminals out.

use std::time::Instant;

use ringmain_codec::{ConnectionError, Event, Started, Status, StreamHandle};
use ringmain_shard::{Inbox, Link};

use super::{Attachment, Calls, Offered, PieceMeta, Sink, Terminal};

/// The configuration's name of the reassembly budget, as errors show it.
const REASSEMBLY_LIMIT: &str = "reassembly_bytes_max";

/// What must be done to the link after an event was taken in.
enum Then {
    Nothing,
    Release(StreamHandle, u32),
    Kill(StreamHandle),
}

impl<T: Attachment> Calls<T> {
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
                self.counts.messages += u64::from(meta.message_end);
                let forward = stream.attachment.forward();
                let taken = match forward.filter(|_| pieces.is_empty()) {
                    Some(forward) => forward.offer(meta.piece(piece)),
                    None => Offered::Part(0),
                };
                let Offered::Part(taken) = taken else {
                    return Then::Release(handle, meta.credit);
                };
                let (piece, credit) = (&piece[taken..], u32::try_from(taken).unwrap_or(0));
                pieces.push(piece, meta.advanced(credit));
                if let Some(forward) = forward {
                    forward.kept(piece.len());
                }
                self.touch(key.index);
                return Then::Release(handle, credit);
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
}
