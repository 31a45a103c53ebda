//! Who serves which endpoint, and where.
//!
//! ```text
//!               ┌─────────┐ records ┌──────────────────┐ pointer swap ┌────────────────┐
//!  register ──▶ │ backend │ ──────▶ │ discovery thread │ ───────────▶ │ SnapshotHandle │▶ readers
//!  update   ──▶ │         │         │ (Publisher)      │  debounced   │ CachedReader   │  no locks
//!  drop     ──▶ └─────────┘         └──────────────────┘              └────────────────┘
//! ```
//!
//! [`Discovery::open`] takes a [`RegistryUrl`] and gives the [`Registry`] operations: register an
//! [`Instance`], watch an endpoint, list. A watch is a [`SnapshotHandle`]: the current [`Snapshot`]
//! of one endpoint, immutable and versioned, replaced whole. One snapshot serves one whole decision
//! (pick and resolve), so an instance cannot vanish in between. Every [`Member`] has a slot that
//! stays its own for as long as it is present, and a generation that changes when connections to it
//! must not be kept; tables of readers are plain arrays by slot.
//!
//! Three rules hold for every backend. A registry that cannot be read leaves the last snapshot in
//! place, marked stale. A registration that cannot be renewed is retried and never ends the
//! process. A record that makes no sense is skipped, counted and named once; it never harms its
//! neighbors.
//!
//! What is not here: connections, retries, choosing among instances, and evidence gathered by
//! callers. A backend for etcd belongs beside the others in `backend/`, driven by the control
//! thread's runtime; it will implement [`Registry`] with leases and a list-then-watch loop, and
//! publish through the same [`Publisher`].
#![forbid(unsafe_code)]

mod address;
mod advertise;
mod backend;
mod discovery;
mod doorbell;
mod engine;
mod error;
mod fresh_id;
mod handle;
mod id_index;
mod model;
mod network;
mod publisher;
mod registry;
mod slots;
mod snapshot;
mod url;
mod waiters;

pub use crate::address::{ParseTransportAddrError, TransportAddr};
pub use crate::advertise::{AdvertiseError, Scope, advertise};
pub use crate::discovery::{Discovery, Options};
pub use crate::error::{Error, ErrorKind};
pub use crate::fresh_id::fresh_instance_id;
pub use crate::handle::{CachedReader, Closed, SnapshotHandle, WaitFor};
pub use crate::model::{Identity, Instance, InvalidInstance};
pub use crate::network::{HostNetwork, Interface};
pub use crate::publisher::{Freshness, Publisher};
pub use crate::registry::{Registration, Registry};
pub use crate::snapshot::{Changes, Member, Snapshot};
pub use crate::url::{ParseRegistryUrlError, RegistryUrl};
