//! What a role (server or client) plugs into a shard.

use std::any::Any;
use std::io;

use ringmain_codec::{Config, ConnectionError, StreamHandle};
use ringmain_reactor::Address;

use crate::ctx::ShardCtx;
use crate::key::LinkKey;
use crate::link::Link;

/// A role's side of one link. Lives on the shard's thread and is called between I/O and output.
///
/// No method may block. The link and the role are borrowed while a method runs: calling
/// [`ShardCtx::with_link`] for the same key from inside is an error of the role.
pub trait LinkRole: 'static {
    /// The transport of a dialed link is connected (not yet greeted).
    fn on_connected(&mut self, _ctx: &ShardCtx, _key: LinkKey, _link: &mut Link) {}

    /// Bytes arrived; pull events with [`Link::read`] until it returns `None`.
    ///
    /// # Errors
    ///
    /// What [`Link::read`] returned; the shard then closes the link and calls
    /// [`on_down`](Self::on_down).
    fn on_bytes(
        &mut self,
        ctx: &ShardCtx,
        key: LinkKey,
        link: &mut Link,
        chunk: &[u8],
    ) -> Result<(), ConnectionError>;

    /// A timer set with [`ShardCtx::set_stream_timer`] is due. The stream may be gone.
    fn on_stream_timer(
        &mut self,
        ctx: &ShardCtx,
        key: LinkKey,
        link: &mut Link,
        stream: StreamHandle,
    );

    /// The link is gone; end every stream still open ([`Link::poll_failed`]). The last call.
    fn on_down(&mut self, ctx: &ShardCtx, key: LinkKey, link: &mut Link, down: &LinkDown);

    /// The role's own type, for code of the same role that reaches it by key.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// Makes the serving side of a connection that was just accepted.
pub trait LinkAcceptor: Send + Sync {
    /// Called on the shard that will own the link.
    fn accept(&self, ctx: &ShardCtx, peer: Option<&Address>) -> (Config, Box<dyn LinkRole>);
}

/// Why a link ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkDown {
    /// The dial failed: nothing was ever sent.
    Dial(io::ErrorKind, String),
    /// The transport ended: reset, or closed by the peer.
    Transport(io::ErrorKind),
    /// The peer closed in order, with nothing left to say.
    Eof,
    /// A protocol error, a flood, or a peer that no longer answers.
    Protocol(ConnectionError),
    /// This side closed it: drained, idle, or shutting down.
    Local,
}
