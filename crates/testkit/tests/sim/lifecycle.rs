//! Shards at their edges: full mailboxes, links that end early, stops that cannot wait.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringmain_codec::{Config, ConnectionError, StreamHandle};
use ringmain_reactor::driver::sim::{SimConfig, SimNet, SimReactor};
use ringmain_reactor::{Address, ListenOptions};
use ringmain_shard::{
    Link, LinkAcceptor, LinkDown, LinkKey, LinkRole, Shard, ShardCtx, ShardSet, ShardSetConfig,
    ShardSignal, ShardWork, Turn,
};

use ringmain_telemetry::Counter;

use crate::support::millis;

/// A mailbox of two items.
fn shard_on(net: &SimNet, host: &str) -> (ShardSet, Shard<SimReactor>) {
    let config = ShardSetConfig {
        mailbox_max: 2,
        ..ShardSetConfig::default()
    };
    let (set, mut shards) = ShardSet::manual(vec![net.reactor(host)], &config);
    (set, shards.pop().unwrap())
}

/// Turns until nothing more happens before `within` has passed.
fn settle(net: &SimNet, shard: &mut Shard<SimReactor>, within: Duration) -> Turn {
    let end = net.now() + within;
    for _ in 0..10_000 {
        if shard.turn().unwrap() == Turn::Stopped {
            return Turn::Stopped;
        }
        let waits = shard.next_wait();
        if waits.is_some_and(|at| at <= net.now()) {
            continue;
        }
        let next = [waits, net.next_event_time()].into_iter().flatten().min();
        match next.filter(|at| *at <= end) {
            Some(at) => net.advance_to(at),
            None => return Turn::Continue,
        }
    }
    panic!("the shard never comes to rest");
}

#[derive(Default)]
struct Signal(AtomicUsize);

impl ShardSignal for Signal {
    fn signalled(self: Arc<Self>, _ctx: &ShardCtx) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn what_must_not_be_lost_passes_a_full_mailbox_in_order() {
    let net = SimNet::new(1, SimConfig::calm());
    let (set, mut shard) = shard_on(&net, "host");
    let handle = &set.handles()[0];
    let ran: Arc<std::sync::Mutex<Vec<u32>>> = Arc::default();
    let note = |number: u32| -> Box<dyn ShardWork> {
        let ran = Arc::clone(&ran);
        Box::new(move |_: &ShardCtx| ran.lock().unwrap().push(number))
    };
    assert!(handle.run(note(1)).is_ok() && handle.run(note(2)).is_ok());
    assert!(handle.run(note(0)).is_err(), "the mailbox is full");
    assert!(handle.run_assured(note(3)).is_ok());
    let signal = Arc::new(Signal::default());
    assert!(handle.signal(Arc::<Signal>::clone(&signal)).is_ok());
    settle(&net, &mut shard, millis(1));
    assert_eq!(*ran.lock().unwrap(), [1, 2, 3], "an end does not overtake");
    assert_eq!(signal.0.load(Ordering::SeqCst), 1);
    let refused = set.telemetry().counter_total(Counter::MailboxFull);
    assert_eq!(refused, 3, "each that found it full is counted");
    drop(shard);
    assert!(
        handle.run_assured(note(4)).is_err(),
        "a stopped shard says so"
    );
    assert!(handle.signal(signal).is_err());
}

#[test]
fn what_waits_for_a_shard_that_ends_is_dropped() {
    let net = SimNet::new(1, SimConfig::calm());
    let (set, shard) = shard_on(&net, "host");
    let witness = Arc::new(());
    for _ in 0..5 {
        let witness = Arc::clone(&witness);
        let work = Box::new(move |_: &ShardCtx| drop(witness));
        assert!(set.handles()[0].run_assured(work).is_ok());
    }
    drop(shard);
    assert_eq!(Arc::strong_count(&witness), 1);
}

/// Notes how its link ended; dials the next address when a dial has failed.
struct Dialer {
    ends: Rc<RefCell<Vec<LinkDown>>>,
    next: Vec<Address>,
    /// Held by a role, the context would keep itself alive.
    _ctx: ShardCtx,
}

impl LinkRole for Dialer {
    fn on_bytes(
        &mut self,
        ctx: &ShardCtx,
        _key: LinkKey,
        link: &mut Link,
        mut chunk: &[u8],
    ) -> Result<(), ConnectionError> {
        while link.read(ctx.now(), &mut chunk)?.is_some() {}
        Ok(())
    }

    fn on_stream_timer(&mut self, _: &ShardCtx, _: LinkKey, _: &mut Link, _: StreamHandle) {}

    fn on_down(&mut self, ctx: &ShardCtx, _key: LinkKey, _link: &mut Link, down: &LinkDown) {
        self.ends.borrow_mut().push(down.clone());
        if let Some(address) = self.next.pop() {
            dial(ctx, &self.ends, address, std::mem::take(&mut self.next));
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

fn dial(
    ctx: &ShardCtx,
    ends: &Rc<RefCell<Vec<LinkDown>>>,
    address: Address,
    next: Vec<Address>,
) -> LinkKey {
    let role = Dialer {
        ends: Rc::clone(ends),
        next,
        _ctx: ctx.clone(),
    };
    ctx.dial(address, Config::dialer(None), Box::new(role))
}

struct Nobody;

impl LinkAcceptor for Nobody {
    fn accept(&self, ctx: &ShardCtx, _peer: Option<&Address>) -> (Config, Box<dyn LinkRole>) {
        let role = Dialer {
            ends: Rc::default(),
            next: Vec::new(),
            _ctx: ctx.clone(),
        };
        let instance = ringmain_codec::InstanceId::new(1).unwrap();
        (Config::acceptor(instance), Box::new(role))
    }
}

fn listen(set: &ShardSet, shard: &mut Shard<SimReactor>) -> Address {
    let any: Address = "10.0.0.1:0".parse().unwrap();
    let listening = set
        .begin_listen(&any, &ListenOptions::default(), Arc::new(Nobody))
        .unwrap();
    shard.turn().unwrap();
    listening.poll().unwrap().unwrap()
}

/// The link goes down as it is flushed, after the turn has run its commands: the dial that its
/// role then asks for is work all the same.
#[test]
fn a_dial_from_a_link_that_ends_in_the_flush_does_not_wait_for_the_next_event() {
    let net = SimNet::new(1, SimConfig::calm());
    let (set, mut shard) = shard_on(&net, "host");
    let address = listen(&set, &mut shard);
    let ends = Rc::default();
    let key = dial(shard.ctx(), &ends, address.clone(), vec![address]);
    settle(&net, &mut shard, millis(500));
    shard.ctx().close(key);
    // Until its role has heard of the end, and no turn further.
    while ends.borrow().is_empty() {
        shard.turn().unwrap();
    }
    let at = shard.next_wait();
    assert!(
        at.is_some_and(|at| at <= net.now()),
        "there is a dial to make"
    );
}

#[test]
fn a_stop_ends_dials_that_are_under_way_and_starts_none() {
    let net = SimNet::new(1, SimConfig::calm());
    let (set, mut shard) = shard_on(&net, "host");
    let ends = Rc::default();
    let address: Address = "10.0.0.9:1".parse().unwrap();
    dial(
        shard.ctx(),
        &ends,
        address.clone(),
        vec![address.clone(), address],
    );
    shard.turn().unwrap();
    set.stop(Duration::from_secs(60)).unwrap();
    assert_eq!(settle(&net, &mut shard, millis(10)), Turn::Stopped);
    let ends = ends.borrow();
    assert_eq!(ends.first(), Some(&LinkDown::Local));
    assert_eq!(ends.len(), 3, "the next dials are refused: {ends:?}");
}

/// Its driver may report the failure of a dial that was given up in the same turn.
#[test]
fn a_closed_dial_leaves_nothing_behind() {
    let net = SimNet::new(1, SimConfig::calm());
    let (_set, mut shard) = shard_on(&net, "host");
    let ends = Rc::default();
    for _ in 0..3 {
        let key = dial(
            shard.ctx(),
            &ends,
            "10.0.0.9:1".parse().unwrap(),
            Vec::new(),
        );
        shard.turn().unwrap();
        shard.ctx().close(key);
    }
    settle(&net, &mut shard, Duration::from_secs(10));
    assert_eq!(*ends.borrow(), vec![LinkDown::Local; 3]);
    assert_eq!(shard.ctx().handles()[0].links_open(), 0);
}

/// A role that holds the context is dropped with its shard, though the context holds the role.
#[test]
fn links_that_are_left_go_with_their_shard() {
    let net = SimNet::new(1, SimConfig::calm());
    let (set, mut shard) = shard_on(&net, "host");
    let address = listen(&set, &mut shard);
    let ends = Rc::default();
    dial(shard.ctx(), &ends, address, Vec::new());
    settle(&net, &mut shard, millis(500));
    assert_eq!(shard.ctx().handles()[0].links_open(), 2);
    drop(shard);
    assert_eq!(Rc::strong_count(&ends), 1, "the role was dropped");
}
