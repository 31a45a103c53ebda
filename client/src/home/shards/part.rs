//! One client's share of one shard.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ringmain_reactor::Address;
use ringmain_shard::ShardCtx;
use ringmain_telemetry::Counter;
use rustc_hash::FxHashMap;

use super::HomeShared;
use super::host::LocalLink;
use super::resolve::{addresses_of, resolve};
use super::role::{ClientLink, Dialing};
use crate::calls::Calls;
use crate::error::ConnectErrorKind;
use crate::pool::{Dial, DialFailure, Pool, PoolConfig};

/// A client's pool on one shard.
pub(crate) struct ShardPart {
    home: Arc<HomeShared>,
    pool: RefCell<Pool<LocalLink>>,
}

/// The parts on one shard, by client.
#[derive(Default)]
struct Parts(RefCell<FxHashMap<u64, Rc<ShardPart>>>);

impl ShardPart {
    /// The client's part on this shard, made on first use.
    pub(crate) fn of(ctx: &ShardCtx, home: &Arc<HomeShared>) -> Rc<Self> {
        let parts = ctx.extension(Parts::default);
        let mut parts = parts.0.borrow_mut();
        let part = parts.entry(home.client).or_insert_with(|| {
            let config = PoolConfig::new(&home.config, home.shards);
            Rc::new(Self {
                home: Arc::clone(home),
                pool: RefCell::new(Pool::new(config)),
            })
        });
        Rc::clone(part)
    }

    /// Ends a client's part: its links close once their streams have ended.
    pub(super) fn close(ctx: &ShardCtx, client: u64) {
        let parts = ctx.extension(Parts::default);
        let part = parts.0.borrow_mut().remove(&client);
        if let Some(part) = part {
            let links = part.pool.borrow_mut().take_links();
            for link in links {
                link.close_when_unused(ctx, "client closed");
            }
        }
    }

    pub(super) fn home(&self) -> &Arc<HomeShared> {
        &self.home
    }

    /// Runs `f` on the pool and does what the pool then asks for.
    pub(super) fn with_pool<R>(
        self: &Rc<Self>,
        ctx: &ShardCtx,
        f: impl FnOnce(&mut Pool<LocalLink>) -> R,
    ) -> R {
        let (result, wakers) = {
            let mut pool = self.pool.borrow_mut();
            let result = f(&mut pool);
            ctx.count(Counter::InstancesInhibited, pool.take_inhibited_total());
            (result, pool.take_wakers())
        };
        for waker in wakers {
            waker.wake();
        }
        loop {
            let retired = self.pool.borrow_mut().next_retired();
            let Some(link) = retired else { break };
            // In a task of its own: the link may be the one whose event we are in.
            let ctx_then = ctx.clone();
            ctx.spawn(async move { link.close_when_unused(&ctx_then, "instance changed") })
                .detach();
        }
        loop {
            let dial = self.pool.borrow_mut().next_dial();
            let Some(dial) = dial else { break };
            self.start_dial(ctx, dial);
        }
        result
    }

    /// Dials the target's addresses one after the other until one answers.
    fn start_dial(self: &Rc<Self>, ctx: &ShardCtx, dial: Dial) {
        match addresses_of(&dial.target.addresses) {
            Some(addresses) => self.dial_first(ctx, dial, addresses),
            None => {
                let (part, ctx_then) = (Rc::clone(self), ctx.clone());
                ctx.spawn(async move {
                    let addresses = resolve(dial.target.addresses.clone()).await;
                    part.dial_first(&ctx_then, dial, addresses);
                })
                .detach();
            }
        }
    }

    fn dial_first(self: &Rc<Self>, ctx: &ShardCtx, dial: Dial, mut addresses: Vec<Address>) {
        // Taken from the end.
        addresses.reverse();
        let dialing = Dialing { dial, addresses };
        if let Some(dialing) = self.dial_next(ctx, dialing) {
            let failure = DialFailure::new(ConnectErrorKind::Unreachable, "no usable address");
            self.dial_failed(ctx, &dialing, &failure);
        }
    }

    /// Dials the next address; the dial comes back when none is left.
    pub(super) fn dial_next(
        self: &Rc<Self>,
        ctx: &ShardCtx,
        mut dialing: Dialing,
    ) -> Option<Dialing> {
        let Some(address) = dialing.addresses.pop() else {
            return Some(dialing);
        };
        let config = self.home.config.connection(dialing.dial.target.expected);
        let calls = Rc::new(RefCell::new(Calls::new(
            self.home.config.reassembly_bytes_max,
        )));
        ctx.dial(
            address,
            config,
            Box::new(ClientLink::new(Rc::clone(self), dialing, calls)),
        );
        None
    }

    pub(super) fn dial_failed(
        self: &Rc<Self>,
        ctx: &ShardCtx,
        dialing: &Dialing,
        failure: &DialFailure,
    ) {
        let target = &dialing.dial.target;
        tracing::debug!(instance = %target.instance, kind = %failure.kind, "dial.failed");
        let key = dialing.dial.key;
        self.with_pool(ctx, |pool| pool.dial_failed(key, failure, ctx.now()));
    }
}
