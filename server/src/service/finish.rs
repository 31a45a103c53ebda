//! Sends a handler's terminal, also when the handler panics.

use ringmain_shard::ShardCtx;

use crate::admission::Permit;
use crate::role::{Outcome, with_server_link};
use crate::sink::StreamKey;

/// Ends a stream on its shard exactly once: by [`done`](Self::done), or by being dropped in a
/// panic. Dropped otherwise it does nothing: whoever dropped the handler has ended the stream.
pub(super) struct Finish {
    ctx: ShardCtx,
    key: StreamKey,
    armed: bool,
    /// The slot is free when the handler is gone, whoever ended the stream.
    _permit: Permit,
}

impl Finish {
    pub(super) const fn new(ctx: ShardCtx, key: StreamKey, permit: Permit) -> Self {
        Self {
            ctx,
            key,
            armed: true,
            _permit: permit,
        }
    }

    pub(super) fn done(mut self, outcome: &Outcome) {
        self.armed = false;
        self.end(outcome);
    }

    fn end(&self, outcome: &Outcome) {
        let Self { ctx, key, .. } = self;
        with_server_link(ctx, *key, |link, role| {
            role.handler_ended(ctx, link, key.stream, outcome);
        });
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        if self.armed && std::thread::panicking() {
            self.end(&Outcome::Panicked);
        }
    }
}
