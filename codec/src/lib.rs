//! Ringmain's wire protocol as a sans-I/O state machine.
//!
//! Bytes and the time go in, events and bytes come out. The protocol's rules live here once, and
//! every driver, runtime and test uses the same: `docs/spec/wire.md` states them, and code cites
//! its clauses (`spec 6.2`).
//!
//! ```text
//!  received bytes ──> Connection::read ──────────> Event, borrowing the bytes
//!  now ─────────────> Connection::handle_timeout
//!  open, send, end ─> Connection ────────────────> poll_transmit ──> OutBuf ──> bytes to send
//!                       │ uses
//!                     frame::{Open, Data, End, ..}   parse and encode, one file each
//!                       │ uses
//!                     wire::{Header, Metadata, ..}   layout, bounds, checked reading
//! ```
//!
//! # The types to know
//! - [`Connection`]: one end of one connection, with all its streams. Start here.
//! - [`Event`]: what [`Connection::read`] tells, one thing at a time.
//! - [`frame::Frame`]: any frame as a value, for tools that look at bytes without a connection.
//!
//! ```
//! use ringmain_codec::frame::{Data, Frame, Split};
//! use ringmain_codec::{OutBuf, StreamId};
//!
//! let mut bytes = Vec::with_capacity(64);
//! let token = Frame::Data(Data::whole(b"token"));
//! token.encode(StreamId::DIALER_FIRST, &mut OutBuf::new(&mut bytes, 64))?;
//! assert_eq!(bytes.len(), 8 + 5);
//! let Split::Frame { frame, .. } = Frame::split_first(&bytes)? else { unreachable!() };
//! assert_eq!(frame, token);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//! It owns no socket, buffer, clock or thread, and keeps no received payload. It does not choose
//! instances, retry, admit, or reassemble messages: it says which bytes of which message arrived.
//! What the peer sends can close the connection and can never panic or allocate past the announced
//! limits.
#![forbid(unsafe_code)]
#![deny(clippy::cast_possible_truncation)]

pub mod connection;
pub mod frame;
mod ids;
mod status;
pub mod wire;

pub use connection::{
    Config, Connection, ConnectionError, ConnectionState, CreditAudit, CreditFlow, EndParams,
    Event, FloodKind, OpenError, OpenParams, PeerInfo, Role, SendError, Stats, StreamHandle,
    Transmit, TrySend,
};
pub use frame::{End, Goaway, Open};
pub use ids::{
    EndpointId, EndpointIdError, InstanceId, ParseInstanceIdError, Priority, RequestId, StreamId,
    TraceContext,
};
pub use status::{Blame, Started, Status};
pub use wire::{Extensions, Limits, Metadata, OutBuf};
