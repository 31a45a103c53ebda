//! What programs build the request plane from: parts that serve and call at once.
//!
//! ```text
//!  client ═══ link ═══> Server ─> Relay ─> LocalClient ═══ link ═══> worker
//!                          └── one shard, one thread ──┘
//! ```
//!
//! [`Relay`] is a router's endpoint: a handler that passes each request on to another endpoint and
//! streams the answer back. Server and client do not know each other; what joins them is here.
//!
//! It touches no socket and no frame, and starts no thread.

#![forbid(unsafe_code)]

mod relay;

pub use relay::Relay;
