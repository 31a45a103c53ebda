//! One stream of a link, from OPEN until its consumer lets go.

use std::task::Waker;

use ringmain_codec::{Started, StreamHandle};
use ringmain_reactor::timer::TimerKey;
use ringmain_shard::Inbox;

use super::pieces::PieceBox;
use super::terminal::Terminal;

/// Names one stream of one link; outlives it safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StreamKey {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// ```text
/// open (handle) ──> ended (terminal) ──> released by its consumer
///   └──────────────── released ──────────────┘  = KILL
/// ```
///
/// What a token touches comes first: with thousands of streams each token finds these lines cold.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Stream<T> {
    /// The codec's name for it while it is open there.
    pub(super) handle: Option<StreamHandle>,
    /// ACCEPT or DATA was seen.
    pub(super) accepted: bool,
    pub(super) stopped: bool,
    /// In the middle of a message.
    pub(super) partial: bool,
    /// The consumer elsewhere has whole messages waiting.
    pub(super) behind: bool,
    /// On the list of streams with news.
    pub(super) touched: bool,
    /// Credit of long messages, kept while the consumer is behind.
    pub(super) held: u32,
    pub(super) waker: Option<Waker>,
    pub(super) attachment: T,
    pub(super) sink: Sink,
    /// Bytes of long messages charged to the link's reassembly budget.
    pub(super) reserved: usize,
    pub(super) timer: Option<TimerKey>,
    pub(super) end: Option<Terminal>,
}

/// Where payload goes.
#[derive(Debug)]
pub(crate) enum Sink {
    /// Whole messages.
    Messages(Inbox),
    /// Pieces as they arrive.
    Pieces(PieceBox),
}

impl Sink {
    pub(crate) fn pieces() -> Self {
        Self::Pieces(PieceBox::default())
    }
}

impl<T> Stream<T> {
    pub(super) fn new(handle: StreamHandle, sink: Sink, attachment: T) -> Self {
        Self {
            handle: Some(handle),
            accepted: false,
            stopped: false,
            sink,
            partial: false,
            end: None,
            waker: None,
            held: 0,
            behind: false,
            reserved: 0,
            timer: None,
            touched: false,
            attachment,
        }
    }

    /// What can be said of the handler when this side ends the stream by itself.
    pub(super) const fn started(&self) -> Started {
        if self.accepted {
            Started::Yes
        } else {
            Started::Unknown
        }
    }
}
