//! Ringmain's wire protocol as a sans-I/O state machine.
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
