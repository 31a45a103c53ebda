//! A shard's thread, from its start to its loop.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use ringmain_reactor::driver::epoll::Epoll;
use ringmain_reactor::driver::uring::Uring;
use ringmain_reactor::exec::Executor;
use ringmain_reactor::{IoKind, Reactor, mailbox};
use ringmain_telemetry::Telemetry;

use super::{ShardSetConfig, StartError};
use crate::ctx::ShardCtx;
use crate::mailboxes::ShardHandle;
use crate::turn::Shard;

/// A thread that is making its driver.
pub(super) struct Starting {
    pub(super) thread: JoinHandle<io::Result<()>>,
    pub(super) handle: Receiver<io::Result<ShardHandle>>,
    pub(super) peers: SyncSender<Arc<[ShardHandle]>>,
}

impl Starting {
    pub(super) fn spawn(
        kind: IoKind,
        index: usize,
        core: Option<usize>,
        config: &ShardSetConfig,
        telemetry: &Arc<Telemetry>,
    ) -> Result<Self, StartError> {
        let (handle_tx, handle) = sync_channel(1);
        let (peers, peers_rx) = sync_channel(1);
        let config = config.clone();
        let telemetry = Arc::clone(telemetry);
        let body = move || {
            if let Some(core) = core
                && let Err(error) = ringmain_reactor::pin_current_thread(core)
            {
                tracing::warn!(shard = index, core, %error, "shard.unpinned");
            }
            match kind {
                IoKind::Uring => {
                    let driver = Uring::new(&config.driver);
                    run(driver, index, &config, telemetry, &handle_tx, &peers_rx)
                }
                _ => {
                    let driver = Epoll::new(&config.driver);
                    run(driver, index, &config, telemetry, &handle_tx, &peers_rx)
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("ringmain-shard-{index}"))
            .spawn(body)
            .map_err(|source| StartError::Shard {
                shard: index,
                source,
            })?;
        Ok(Self {
            thread,
            handle,
            peers,
        })
    }
}

fn run<R: Reactor>(
    driver: io::Result<R>,
    index: usize,
    config: &ShardSetConfig,
    telemetry: Arc<Telemetry>,
    handle_tx: &SyncSender<io::Result<ShardHandle>>,
    peers: &Receiver<Arc<[ShardHandle]>>,
) -> io::Result<()> {
    let gone = || io::Error::other("the set was dropped while it started");
    let reactor = match driver {
        Ok(reactor) => reactor,
        Err(error) => {
            handle_tx.send(Err(error)).map_err(|_| gone())?;
            return Ok(());
        }
    };
    let (sender, receiver) = mailbox::channel(config.mailbox_max, reactor.waker());
    handle_tx
        .send(Ok(ShardHandle::new(
            index,
            sender,
            &receiver,
            Arc::clone(&telemetry),
        )))
        .map_err(|_| gone())?;
    let Ok(handles) = peers.recv() else {
        return Ok(());
    };
    let exec = Executor::new(receiver.doorbell());
    let ctx = ShardCtx::new(
        index,
        reactor.io(),
        reactor.now(),
        exec.handle(),
        telemetry,
        handles,
    );
    Shard::new(reactor, ctx, exec, receiver, config.socket.clone()).run()
}
