//! Shards without threads: whoever makes them turns them.

use std::sync::Arc;

use ringmain_reactor::exec::Executor;
use ringmain_reactor::{IoKind, Reactor, mailbox};
use ringmain_telemetry::Telemetry;

use crate::clock::Clock;
use crate::ctx::ShardCtx;
use crate::mailboxes::ShardHandle;
use crate::set::{ShardSet, ShardSetConfig};
use crate::turn::Shard;

impl ShardSet {
    /// A set of one shard per reactor, all on this thread and without a thread of their own: the
    /// caller turns them. For tests in virtual time, and for programs with a loop of their own.
    ///
    /// Of `config` only `socket` and `mailbox_max` are used. Everything that a set offers works,
    /// but what is asked of a shard happens in its next turn, so nothing here waits for it: use
    /// [`begin_listen`](Self::begin_listen) instead of `listen`, and turn the shards after
    /// [`stop`](Self::stop) until each says [`Turn::Stopped`](crate::Turn::Stopped).
    ///
    /// Tasks of one shard may wake those of another without a wake-up, because all are on one
    /// thread: before time moves, ask each shard for its [`next_wait`](Shard::next_wait).
    pub fn manual<R: Reactor>(reactors: Vec<R>, config: &ShardSetConfig) -> (Self, Vec<Shard<R>>) {
        let io = reactors.first().map_or(IoKind::Sim, Reactor::io);
        let telemetry = Telemetry::new(reactors.len());
        let clock = reactors
            .first()
            .map_or_else(Clock::default, |first| Clock::turned(first.now()));
        let (senders, receivers): (Vec<_>, Vec<_>) = reactors
            .iter()
            .map(|reactor| mailbox::channel(config.mailbox_max, reactor.waker()))
            .unzip();
        let handles: Arc<[ShardHandle]> = senders
            .into_iter()
            .zip(&receivers)
            .enumerate()
            .map(|(index, (sender, receiver))| {
                ShardHandle::new(index, sender, receiver, Arc::clone(&telemetry))
            })
            .collect();
        let shards = reactors
            .into_iter()
            .zip(receivers)
            .enumerate()
            .map(|(index, (reactor, receiver))| {
                let exec = Executor::new(receiver.doorbell());
                let (telemetry, handles) = (Arc::clone(&telemetry), Arc::clone(&handles));
                let ctx = ShardCtx::new(
                    index,
                    reactor.io(),
                    reactor.now(),
                    exec.handle(),
                    telemetry,
                    handles,
                );
                Shard::new(reactor, ctx, exec, receiver, config.socket.clone())
                    .with_clock(clock.clone())
            })
            .collect();
        (
            Self::assemble(handles, Vec::new(), telemetry, io, None, clock),
            shards,
        )
    }
}
