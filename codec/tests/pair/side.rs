//! One connection with a record of what it told.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use ringmain_codec::{
    Config, Connection, ConnectionError, Event, OutBuf, Started, Status, StreamHandle, Transmit,
};

/// What one side was told, in owned form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Note {
    Ready,
    Open(u32),
    Accepted(u32),
    EndRequest(u32),
    End(u32, Status, Started),
    Stop(u32),
    Kill(u32),
    SendReady(u32),
    Refused(u32, Status),
    Goaway(u32, Status),
    StreamRefused(u32),
    Pong(Duration),
    Failed(u32, Started),
}

/// How received bytes are cut before they are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Split {
    Whole,
    /// Pieces of this length.
    Every(usize),
    /// One cut, at this place of all that ever arrives.
    At(usize),
    /// Pieces of lengths drawn from this state.
    Random(u64),
}

impl Split {
    /// Whole for every fourth seed, else random.
    pub(crate) fn from_seed(seed: u64) -> Self {
        if seed.is_multiple_of(4) {
            Self::Whole
        } else {
            Self::Random(seed)
        }
    }

    fn next(&mut self, arrived: usize, left: usize) -> usize {
        let len = match self {
            Self::Whole => left,
            Self::Every(len) => *len,
            Self::At(at) if arrived < *at => *at - arrived,
            Self::At(_) => left,
            Self::Random(state) => {
                *state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                usize::try_from(*state >> 33).unwrap_or(0) % 40 + 1
            }
        };
        len.clamp(1, left)
    }
}

pub(crate) struct Side {
    pub(crate) connection: Connection<Vec<u8>>,
    pub(crate) notes: Vec<Note>,
    /// Whole messages, by stream.
    pub(crate) messages: BTreeMap<u32, Vec<Vec<u8>>>,
    pub(crate) handles: BTreeMap<u32, StreamHandle>,
    /// Terminals seen, by stream, the caller's own `kill` and `end` not among them.
    pub(crate) terminals: BTreeMap<u32, u32>,
    /// Whether credit is released as soon as pieces arrive.
    pub(crate) releases: bool,
    /// Credit kept because `releases` is off.
    pub(crate) held: Vec<(StreamHandle, u32)>,
    /// Bytes given to one `poll_transmit`.
    pub(crate) out_bytes: usize,
    pub(crate) split: Split,
    pub(crate) error: Option<ConnectionError>,
    partial: BTreeMap<u32, Vec<u8>>,
    arrived: usize,
    /// What is on its way to this side, and when it arrives.
    pub(crate) wire: VecDeque<(Instant, Vec<u8>)>,
}

impl Side {
    pub(crate) fn new(config: Config, now: Instant) -> Self {
        Self {
            connection: Connection::new(config, now),
            notes: Vec::new(),
            messages: BTreeMap::new(),
            handles: BTreeMap::new(),
            terminals: BTreeMap::new(),
            releases: true,
            held: Vec::new(),
            out_bytes: 64 * 1024,
            split: Split::Whole,
            error: None,
            partial: BTreeMap::new(),
            arrived: 0,
            wire: VecDeque::new(),
        }
    }

    /// Takes what was noted since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    pub(crate) fn messages(&self, stream: StreamHandle) -> &[Vec<u8>] {
        self.messages
            .get(&stream.id.value())
            .map_or(&[], Vec::as_slice)
    }

    /// Releases all that was kept.
    pub(crate) fn release_held(&mut self) {
        for (stream, credit) in std::mem::take(&mut self.held) {
            self.connection.release(stream, credit);
        }
    }

    /// Gives received bytes to the connection, cut as `split` says.
    pub(crate) fn feed(&mut self, now: Instant, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.error.is_none() {
            let len = self.split.next(self.arrived, bytes.len());
            let (mut chunk, rest) = bytes.split_at(len);
            self.arrived += len;
            bytes = rest;
            self.read(now, &mut chunk);
        }
    }

    /// Reads a chunk to its end.
    pub(crate) fn read(&mut self, now: Instant, chunk: &mut &[u8]) {
        loop {
            let owned = match self.connection.read(now, chunk) {
                Ok(Some(event)) => Owned::from(event),
                Ok(None) => {
                    assert!(chunk.is_empty(), "a chunk is read to its end");
                    return;
                }
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
            };
            self.take_in(owned);
        }
    }

    fn take_in(&mut self, owned: Owned) {
        if let Some((stream, credit)) = owned.credit {
            if self.releases {
                self.connection.release(stream, credit);
            } else {
                self.held.push((stream, credit));
            }
        }
        if let Some((id, bytes, end)) = owned.data {
            let message = self.partial.entry(id).or_default();
            message.extend_from_slice(&bytes);
            if end {
                let message = std::mem::take(message);
                self.messages.entry(id).or_default().push(message);
            }
        }
        if let Some(stream) = owned.opened {
            self.handles.insert(stream.id.value(), stream);
        }
        if let Some(id) = owned.terminal {
            *self.terminals.entry(id).or_default() += 1;
        }
        self.notes.extend(owned.note);
    }

    /// Writes once into an empty buffer.
    pub(crate) fn transmit(&mut self, now: Instant) -> (Vec<u8>, Transmit) {
        let mut bytes = Vec::with_capacity(self.out_bytes);
        let wanted = self.connection.wants_transmit();
        let mut out = OutBuf::new(&mut bytes, self.out_bytes);
        let transmit = self.connection.poll_transmit(now, &mut out);
        assert_eq!(wanted, !bytes.is_empty(), "wants_transmit tells the truth");
        (bytes, transmit)
    }

    /// Writes all there is to send and hands it to the kernel, so to speak.
    pub(crate) fn transmit_all(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut written = Vec::new();
        loop {
            let (bytes, transmit) = self.transmit(now);
            if !bytes.is_empty() {
                written.push(bytes);
            }
            if transmit == Transmit::Drained {
                break;
            }
        }
        self.connection
            .set_submitted(self.connection.transmitted_bytes());
        written
    }

    /// The transport is gone.
    pub(crate) fn fail(&mut self) {
        self.wire.clear();
        self.connection.fail();
        while let Some((stream, started)) = self.connection.poll_failed() {
            let id = stream.id.value();
            *self.terminals.entry(id).or_default() += 1;
            self.notes.push(Note::Failed(id, started));
        }
    }
}

/// An event without its borrows.
#[derive(Default)]
struct Owned {
    note: Option<Note>,
    opened: Option<StreamHandle>,
    data: Option<(u32, Vec<u8>, bool)>,
    credit: Option<(StreamHandle, u32)>,
    terminal: Option<u32>,
}

impl From<Event<'_>> for Owned {
    fn from(event: Event<'_>) -> Self {
        let mut owned = Self::default();
        let id = |stream: StreamHandle| stream.id.value();
        owned.note = match event {
            Event::Ready => Some(Note::Ready),
            Event::Open {
                stream,
                open,
                credit,
            } => {
                owned.opened = Some(stream);
                owned.credit = Some((stream, credit));
                if open.request_len.is_some() {
                    owned.data = Some((id(stream), open.request.to_vec(), !open.has_more()));
                }
                Some(Note::Open(id(stream)))
            }
            Event::Data {
                stream,
                piece,
                message_end,
                credit,
                ..
            } => {
                owned.credit = Some((stream, credit));
                owned.data = Some((id(stream), piece.to_vec(), message_end));
                None
            }
            Event::Accepted { stream } => Some(Note::Accepted(id(stream))),
            Event::EndRequest { stream } => Some(Note::EndRequest(id(stream))),
            Event::End {
                stream,
                end,
                started,
            } => {
                owned.terminal = Some(id(stream));
                Some(Note::End(id(stream), end.status, started))
            }
            Event::Stop { stream } => Some(Note::Stop(id(stream))),
            Event::Kill { stream } => Some(Note::Kill(id(stream))),
            Event::SendReady { stream } => Some(Note::SendReady(id(stream))),
            Event::Refused { stream, status } => {
                owned.terminal = Some(id(stream));
                Some(Note::Refused(id(stream), status))
            }
            Event::Goaway {
                last_stream,
                status,
            } => Some(Note::Goaway(last_stream.value(), status)),
            Event::StreamRefused { stream, started } => {
                assert_eq!(started, Started::No);
                owned.terminal = Some(id(stream));
                Some(Note::StreamRefused(id(stream)))
            }
            Event::Pong { rtt } => Some(Note::Pong(rtt)),
            event => panic!("unknown event {event:?}"),
        };
        owned
    }
}
