//! One pinned thread, one reactor, many links: bytes in motion.
//!
//! ```text
//!  other threads --mailbox--> Shard: reap -> feed links -> run tasks -> one send per link -> wait
//!                               |        LinkRole (server or client) per link
//!                               +-- ShardCtx: links, timers, tasks, counters for roles and tasks
//! ```
//!
//! [`ShardSet`] starts the threads, or makes shards that the caller turns. A role plugs in as a
//! [`LinkAcceptor`] for accepted links or through [`ShardCtx::dial`] for dialed ones; both get a
//! [`LinkRole`] per [`Link`]. The link is a value machine without I/O, so a client may also run it
//! inside another runtime.
//!
//! This crate chooses no instance, retries nothing, and reads no configuration.

#![forbid(unsafe_code)]

mod clock;
mod ctx;
mod key;
mod late;
mod link;
mod links;
mod mailboxes;
mod manual;
mod message;
mod payload;
mod roles;
mod room;
mod set;
mod shared_inbox;
mod sleep;
mod stream_cell;
mod turn;
mod wakers;

pub use clock::Clock;
pub use ctx::ShardCtx;
pub use key::LinkKey;
pub use link::{FlushReason, Inbox, Link, Message, Taken};
pub use mailboxes::ShardHandle;
pub use message::{ShardSignal, ShardWork};
pub use payload::Payload;
pub use roles::{LinkAcceptor, LinkDown, LinkRole};
pub use room::{RoomPlace, RoomQueue};
pub use set::{Listening, ShardSet, ShardSetConfig, StartError};
pub use shared_inbox::SharedInbox;
pub use sleep::Sleep;
pub use stream_cell::{StreamCell, StreamFlags};
pub use turn::{Shard, Turn};
pub use wakers::{SharedWaker, WaitKey};
