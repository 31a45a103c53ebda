//! What the links of one server share on one shard.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ringmain_codec::{EndpointId, InstanceId, Priority};
use ringmain_shard::{ShardCtx, ShardHandle, ShardSignal};
use ringmain_telemetry::Gauge;
use rustc_hash::FxHashMap;

use crate::admission::Admission;
use crate::classes::Classes;
use crate::config::ServerConfig;
use crate::role::with_server_link;
use crate::service::Service;
use crate::sink::StreamKey;

/// How often a shard with waiting requests looks for a free slot by itself: one that is freed while
/// a request is on its way into the queue tells nobody.
const RECHECK: Duration = Duration::from_millis(50);

/// What all shards of one server share.
pub(crate) struct ServerShared {
    pub(crate) config: ServerConfig,
    pub(crate) instance: InstanceId,
    pub(crate) admission: Arc<Admission>,
    pub(crate) queues: Arc<Queues>,
}

/// Which shards have requests waiting, so that a freed slot finds one.
pub(crate) struct Queues {
    server: u64,
    handles: Arc<[ShardHandle]>,
    waiting: Box<[AtomicUsize]>,
    /// Per shard: it has been told and has not looked yet.
    told: Box<[AtomicBool]>,
    next: AtomicUsize,
}

impl Queues {
    pub(crate) fn new(server: u64, handles: Arc<[ShardHandle]>) -> Arc<Self> {
        let waiting = handles.iter().map(|_| AtomicUsize::new(0)).collect();
        let told = handles.iter().map(|_| AtomicBool::new(false)).collect();
        Arc::new(Self {
            server,
            handles,
            waiting,
            told,
            next: AtomicUsize::new(0),
        })
    }

    /// Tells the next shard that has a request waiting, in turn.
    pub(crate) fn slot_freed(self: &Arc<Self>) {
        let shards = self.handles.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let index = (0..shards)
            .map(|offset| first.wrapping_add(offset) % shards)
            .find(|&index| self.waiting[index].load(Ordering::SeqCst) > 0);
        if let Some(index) = index
            && !self.told[index].swap(true, Ordering::SeqCst)
        {
            // A shard that has stopped has nobody waiting.
            drop(self.handles[index].signal(Arc::clone(self) as Arc<dyn ShardSignal>));
        }
    }
}

impl ShardSignal for Queues {
    fn signalled(self: Arc<Self>, ctx: &ShardCtx) {
        // Before it looks for slots: one that is freed from here on tells again.
        self.told[ctx.index()].store(false, Ordering::SeqCst);
        if let Some(shard) = Servers::on(ctx).find(self.server) {
            shard.call_waiting(ctx);
        }
    }
}

/// The servers of one shard, by their number.
#[derive(Default)]
struct Servers(RefCell<FxHashMap<u64, Rc<ServerShard>>>);

impl Servers {
    fn on(ctx: &ShardCtx) -> Rc<Self> {
        ctx.extension(Self::default)
    }

    fn find(&self, server: u64) -> Option<Rc<ServerShard>> {
        self.0.borrow().get(&server).cloned()
    }
}

/// A request's place in its shard's queue; empty once the request was called or has left.
#[derive(Clone)]
pub(crate) struct Ticket(Rc<Cell<Option<StreamKey>>>);

/// Endpoint table, queue and budgets of one server on one shard.
pub(crate) struct ServerShard {
    shared: Arc<ServerShared>,
    services: RefCell<FxHashMap<EndpointId, Rc<dyn Service>>>,
    by_name: RefCell<FxHashMap<Box<str>, EndpointId>>,
    queue: RefCell<Classes<Ticket>>,
    left_queue: Cell<usize>,
    rechecking: Cell<bool>,
    reassembly_bytes: Cell<usize>,
}

impl ServerShard {
    /// The server's state on this shard, made on first use.
    pub(crate) fn on(ctx: &ShardCtx, shared: &Arc<ServerShared>) -> Rc<Self> {
        let servers = Servers::on(ctx);
        let mut servers = servers.0.borrow_mut();
        let made = servers.entry(shared.queues.server).or_insert_with(|| {
            Rc::new(Self {
                shared: Arc::clone(shared),
                services: RefCell::default(),
                by_name: RefCell::default(),
                queue: RefCell::default(),
                left_queue: Cell::new(0),
                rechecking: Cell::new(false),
                reassembly_bytes: Cell::new(0),
            })
        });
        Rc::clone(made)
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.shared.config
    }

    pub(crate) fn admission(&self) -> &Arc<Admission> {
        &self.shared.admission
    }

    pub(crate) fn serve(&self, endpoint: EndpointId, service: Rc<dyn Service>) {
        self.by_name
            .borrow_mut()
            .insert(endpoint.as_str().into(), endpoint.clone());
        self.services.borrow_mut().insert(endpoint, service);
    }

    pub(crate) fn withdraw(&self, endpoint: &EndpointId) {
        self.by_name.borrow_mut().remove(endpoint.as_str());
        self.services.borrow_mut().remove(endpoint);
    }

    pub(crate) fn find(&self, name: &str) -> Option<(EndpointId, Rc<dyn Service>)> {
        let endpoint = self.by_name.borrow().get(name)?.clone();
        let service = Rc::clone(self.services.borrow().get(&endpoint)?);
        Some((endpoint, service))
    }

    /// Takes `bytes` from the shard's reassembly budget.
    pub(crate) fn reserve(&self, ctx: &ShardCtx, bytes: usize) -> bool {
        let after = self.reassembly_bytes.get() + bytes;
        if after > self.config().reassembly_bytes_max {
            return false;
        }
        self.reassembly_bytes.set(after);
        ctx.cells().gauge_add(Gauge::ReassemblyBytes, bytes as u64);
        true
    }

    pub(crate) fn unreserve(&self, ctx: &ShardCtx, bytes: usize) {
        if bytes > 0 {
            self.reassembly_bytes
                .set(self.reassembly_bytes.get() - bytes);
            ctx.cells().gauge_sub(Gauge::ReassemblyBytes, bytes as u64);
        }
    }

    /// Puts a request into the queue; its place was taken from the process-wide limit.
    pub(crate) fn enqueue(
        self: &Rc<Self>,
        ctx: &ShardCtx,
        key: StreamKey,
        priority: Priority,
    ) -> Ticket {
        let ticket = Ticket(Rc::new(Cell::new(Some(key))));
        self.queue.borrow_mut().push(priority, ticket.clone());
        self.shared.queues.waiting[ctx.index()].fetch_add(1, Ordering::SeqCst);
        if !self.rechecking.replace(true) {
            let this = Rc::clone(self);
            let ctx2 = ctx.clone();
            ctx.spawn(async move {
                while this.has_waiting() {
                    this.call_waiting(&ctx2);
                    ctx2.sleep_until(ctx2.now() + RECHECK).await;
                }
                this.rechecking.set(false);
            })
            .detach();
        }
        ticket
    }

    /// A request leaves the queue before its turn. Its ticket stays until it is reached or until
    /// half of the queue is such tickets, so that leaving costs the same however long the queue.
    pub(crate) fn leave_queue(&self, ctx: &ShardCtx, ticket: &Ticket) {
        if ticket.0.take().is_none() {
            return;
        }
        self.shared.queues.waiting[ctx.index()].fetch_sub(1, Ordering::SeqCst);
        self.left_queue.set(self.left_queue.get() + 1);
        let mut queue = self.queue.borrow_mut();
        if self.left_queue.get() * 2 > queue.len() {
            queue.retain(|ticket| ticket.0.get().is_some());
            self.left_queue.set(0);
        }
    }

    fn has_waiting(&self) -> bool {
        self.queue.borrow().len() > 0
    }

    /// Calls waiting requests, each class in its share, while slots are free.
    fn call_waiting(&self, ctx: &ShardCtx) {
        while self.has_waiting() {
            let Some(permit) = self.admission().try_run() else {
                return;
            };
            let next = self.queue.borrow_mut().pop();
            let Some(ticket) = next else { return };
            let Some(key) = ticket.0.take() else {
                self.left_queue.set(self.left_queue.get().saturating_sub(1));
                continue;
            };
            self.shared.queues.waiting[ctx.index()].fetch_sub(1, Ordering::SeqCst);
            // A request that has gone meanwhile gives its permit back as it is dropped here.
            with_server_link(ctx, key, |link, role| {
                role.call_waiting(ctx, link, key, permit)
            });
        }
    }
}
