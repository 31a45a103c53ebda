//! The state of a simulation: virtual time, what is due, and who cannot hear whom.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::config::SimConfig;
use super::net::Partition;
use super::node::{Node, Seat};
use super::rng::Rng;
use super::token::Tokens;
use super::trace::SimTrace;
use super::wire::{Side, Wire};
use crate::address::Address;
use crate::event::{Event, ListenerId, SocketId};

#[derive(Debug)]
pub(super) struct World {
    pub(super) config: SimConfig,
    pub(super) rng: Rng,
    pub(super) nodes: Vec<Node>,
    pub(super) wires: BTreeMap<u64, Wire>,
    pub(super) listeners: BTreeMap<Address, Vec<Listening>>,
    pub(super) tokens: Tokens,
    /// Numbers wires, tokens and ports, in order of creation.
    pub(super) serial: u64,
    pub(super) trace: SimTrace,
    base: Instant,
    now: Instant,
    sequence: u64,
    agenda: BinaryHeap<Reverse<Due>>,
    partitions: BTreeMap<(Rc<str>, Rc<str>), Partition>,
    /// What came due across a partition that holds.
    held: Vec<What>,
}

/// One reactor's listener at an address.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) node: usize,
    pub(super) listener: ListenerId,
    pub(super) reuse_port: bool,
}

/// Something that will happen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A dial reaches the address.
    Knock { wire: u64, address: Address },
    /// The answer to a dial reaches the dialer.
    Answer { wire: u64, accepted: bool },
    /// A dial has waited too long.
    Expire { wire: u64 },
    /// The next item reaches an end.
    Arrive { wire: u64, at_dialer: bool },
    /// A stalled send goes on.
    Resume { wire: u64, of_dialer: bool },
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    /// Makes the order total: no two dues compare by what follows.
    sequence: u64,
    what: What,
}

impl World {
    pub(super) fn new(seed: u64, config: SimConfig) -> Self {
        let base = Instant::now();
        Self {
            config,
            rng: Rng::new(seed),
            nodes: Vec::new(),
            wires: BTreeMap::new(),
            listeners: BTreeMap::new(),
            tokens: Tokens::default(),
            serial: 0,
            trace: SimTrace::default(),
            base,
            now: base,
            sequence: 0,
            agenda: BinaryHeap::new(),
            partitions: BTreeMap::new(),
            held: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.now.duration_since(self.base)
    }

    /// A delay drawn from the configured range.
    pub(super) fn delay(&mut self) -> Duration {
        let low = self.config.delay_min.as_nanos() as u64;
        let high = self.config.delay_max.as_nanos() as u64;
        Duration::from_nanos(self.rng.between(low, high))
    }

    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(super) fn schedule(&mut self, at: Instant, what: What) {
        self.sequence += 1;
        self.agenda.push(Reverse(Due {
            at,
            sequence: self.sequence,
            what,
        }));
    }

    /// Moves time to `to` through everything that is due until then.
    pub(super) fn advance_to(&mut self, to: Instant) {
        self.sweep_dropped();
        while let Some(Reverse(due)) = self.agenda.pop_if_due(to) {
            self.now = self.now.max(due.at);
            self.happen(due.what);
        }
        self.now = self.now.max(to);
    }

    /// When a reactor next has something to do; `None` when nothing will ever happen by itself.
    pub(super) fn next_event_time(&self) -> Option<Instant> {
        if self.nodes.iter().any(|node| node.is_due(self.now)) {
            return Some(self.now);
        }
        let untils = self
            .nodes
            .iter()
            .filter(|node| node.may_turn())
            .filter_map(|node| node.until);
        let due = self.agenda.peek().map(|Reverse(due)| due.at);
        untils.chain(due).min().map(|at| at.max(self.now))
    }

    /// Gives a reactor an event for its next turn.
    pub(super) fn tell(&mut self, node: usize, event: Event) {
        self.note(node, &event, &[]);
        self.nodes[node].inbox.push_back(event);
    }

    pub(super) fn note(&mut self, node: usize, event: &Event, bytes: &[u8]) {
        let (kind, index) = fingerprint(event);
        let elapsed = self.elapsed();
        self.trace
            .note(elapsed, kind, (node as u64) << 32 | u64::from(index), bytes);
    }

    /// A reactor is gone: the kernel closes what it held.
    pub(super) fn bury(&mut self, node: usize) {
        let dead = &mut self.nodes[node];
        dead.alive = false;
        dead.inbox.clear();
        dead.readable.clear();
        let mut ends = Vec::new();
        for seat in dead.seats.drain() {
            if let Seat::Socket(socket) = seat {
                ends.push((socket.wire, socket.side));
            }
        }
        for (wire, side) in ends {
            self.leave(wire, side);
        }
        for there in self.listeners.values_mut() {
            there.retain(|listening| listening.node != node);
        }
        self.listeners.retain(|_, there| !there.is_empty());
    }

    pub(super) fn partition(&mut self, hosts: (Rc<str>, Rc<str>), kind: Option<Partition>) {
        let pair = in_order(hosts);
        match kind {
            Some(kind) => drop(self.partitions.insert(pair, kind)),
            None => drop(self.partitions.remove(&pair)),
        }
        // What another partition still holds comes back to be held again.
        self.release_held();
    }

    pub(super) fn heal_all(&mut self) {
        self.partitions.clear();
        self.release_held();
    }

    fn release_held(&mut self) {
        for what in std::mem::take(&mut self.held) {
            let at = self.now + self.delay();
            self.schedule(at, what);
        }
    }

    /// Whether something came due on a way that is cut; takes the consequences.
    fn is_cut_off(&mut self, what: &What) -> bool {
        let (wire_id, listener_node) = match what {
            What::Knock { wire, address } => (
                *wire,
                self.find_listener(address).map(|listening| listening.node),
            ),
            What::Answer { wire, .. } | What::Arrive { wire, .. } => (*wire, None),
            What::Expire { .. } | What::Resume { .. } => return false,
        };
        let Some(kind) = self.cut_between(wire_id, listener_node) else {
            return false;
        };
        if !matches!(what, What::Arrive { .. }) {
            let expires = self.now + self.config.connect_timeout;
            self.schedule(expires, What::Expire { wire: wire_id });
        }
        match kind {
            Partition::Hold => self.held.push(what.clone()),
            Partition::BlackHole => self.silence(wire_id),
        }
        true
    }

    pub(super) fn silence(&mut self, wire: u64) {
        if let Some(wire) = self.wires.get_mut(&wire) {
            wire.silent = true;
        }
    }

    fn cut_between(&self, wire: u64, listener_node: Option<usize>) -> Option<Partition> {
        let wire = self.wires.get(&wire)?;
        if wire.silent {
            return Some(Partition::BlackHole);
        }
        let [dialer, acceptor] = wire.hosts;
        let host = |node: usize| Rc::clone(&self.nodes[node].host);
        let pair = in_order((host(dialer?), host(acceptor.or(listener_node)?)));
        self.partitions.get(&pair).copied()
    }

    fn happen(&mut self, what: What) {
        if self.is_cut_off(&what) {
            return;
        }
        let elapsed = self.elapsed();
        match what {
            What::Knock { wire, address } => {
                self.trace.note(elapsed, 100, wire, &[]);
                self.knock(wire, address);
            }
            What::Answer { wire, accepted } => {
                self.trace.note(elapsed, 101, wire, &[]);
                self.answer(wire, accepted);
            }
            What::Expire { wire } => self.expire(wire),
            What::Arrive { wire, at_dialer } => {
                let side = if at_dialer {
                    Side::Dialer
                } else {
                    Side::Acceptor
                };
                self.trace.note(elapsed, 102, wire, &[]);
                self.arrive(wire, side);
            }
            What::Resume { wire, of_dialer } => {
                let side = if of_dialer {
                    Side::Dialer
                } else {
                    Side::Acceptor
                };
                if let Some(found) = self.wires.get_mut(&wire) {
                    found.from(side).stalled = false;
                }
                self.pump(wire, side);
            }
        }
    }
}

trait PopIfDue {
    fn pop_if_due(&mut self, until: Instant) -> Option<Reverse<Due>>;
}

impl PopIfDue for BinaryHeap<Reverse<Due>> {
    fn pop_if_due(&mut self, until: Instant) -> Option<Reverse<Due>> {
        self.peek()
            .is_some_and(|Reverse(due)| due.at <= until)
            .then(|| self.pop())?
    }
}

fn in_order((a, b): (Rc<str>, Rc<str>)) -> (Rc<str>, Rc<str>) {
    if a <= b { (a, b) } else { (b, a) }
}

/// The kind and slot of an event, for the trace.
fn fingerprint(event: &Event) -> (u64, u32) {
    let of = |socket: &SocketId| socket.index();
    match event {
        Event::Accepted { listener, .. } => (1, listener.index()),
        Event::AcceptFailed { listener, .. } => (2, listener.index()),
        Event::Connected { socket } => (3, of(socket)),
        Event::ConnectFailed { socket, .. } => (4, of(socket)),
        Event::Received { socket, .. } => (5, of(socket)),
        Event::Eof { socket } => (6, of(socket)),
        Event::Failed { socket, .. } => (7, of(socket)),
        Event::Sent {
            socket,
            result: Ok(()),
            ..
        } => (8, of(socket)),
        Event::Sent { socket, .. } => (9, of(socket)),
        Event::Closed { socket, buf: None } => (10, of(socket)),
        Event::Closed { socket, .. } => (11, of(socket)),
        Event::Readable { poll } => (12, poll.index()),
    }
}
