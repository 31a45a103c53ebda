//! The handle with which a test runs and disturbs a simulation.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::config::SimConfig;
use super::reactor::SimReactor;
use super::trace::SimTrace;
use super::world::World;

/// What a partition does to what it keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// It waits, as TCP's does: all arrives after [`SimNet::heal`].
    Hold,
    /// Connections that try to use the way die silently; they stay dead after the healing.
    BlackHole,
}

/// A network in virtual time, shared by the reactors of one thread.
///
/// Nothing happens by itself: turn each reactor until none is due, then [`step`](Self::step).
/// Everything random comes from the seed, so equal seeds and callers give equal runs, which
/// [`trace`](Self::trace) shows. A clone is the same network.
///
/// ```
/// use ringmain_reactor::driver::sim::{SimConfig, SimNet};
/// use ringmain_reactor::{Event, ListenOptions, Reactor, SocketOptions};
///
/// # fn main() -> std::io::Result<()> {
/// let net = SimNet::new(7, SimConfig::calm());
/// let (mut server, mut client) = (net.reactor("server"), net.reactor("client"));
/// let (_, address) = server.listen(&"10.0.0.1:0".parse().unwrap(), &ListenOptions::default())?;
/// let dialed = client.connect(&address, &SocketOptions::default())?;
/// loop {
///     server.turn(None)?;
///     client.turn(None)?;
///     if let Some(Event::Connected { socket }) = client.next_event() {
///         assert_eq!(socket, dialed);
///         break;
///     }
///     assert!(net.step(), "nothing left to happen");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SimNet {
    world: Rc<RefCell<World>>,
    seed: u64,
}

impl SimNet {
    /// A network without reactors, at the virtual time 0.
    #[must_use]
    pub fn new(seed: u64, config: SimConfig) -> Self {
        Self {
            world: Rc::new(RefCell::new(World::new(seed, config))),
            seed,
        }
    }

    /// A new reactor on a host. Partitions are between hosts; reactors of one host always hear
    /// each other. Dropping a reactor closes what it holds, as the end of a process does.
    #[must_use]
    pub fn reactor(&self, host: &str) -> SimReactor {
        SimReactor::new(Rc::clone(&self.world), host)
    }

    /// Moves time to `to`, and through everything that is due until then.
    pub fn advance_to(&self, to: Instant) {
        self.world.borrow_mut().advance_to(to);
    }

    /// Moves time to [`next_event_time`](Self::next_event_time), which is no move at all while a
    /// reactor has something to do; false = there is none.
    #[must_use]
    pub fn step(&self) -> bool {
        let mut world = self.world.borrow_mut();
        world.sweep_dropped();
        let next = world.next_event_time();
        if let Some(next) = next {
            world.advance_to(next);
        }
        next.is_some()
    }

    /// Replaces the behavior, from now on.
    pub fn set_config(&self, config: SimConfig) {
        self.world.borrow_mut().config = config;
    }

    /// Cuts two hosts off from each other.
    pub fn partition(&self, a: &str, b: &str, kind: Partition) {
        self.world
            .borrow_mut()
            .partition((a.into(), b.into()), Some(kind));
    }

    /// Ends a partition.
    pub fn heal(&self, a: &str, b: &str) {
        self.world
            .borrow_mut()
            .partition((a.into(), b.into()), None);
    }

    /// Ends all partitions.
    pub fn heal_all(&self) {
        self.world.borrow_mut().heal_all();
    }

    /// Resets all connections between two hosts; returns how many.
    pub fn reset_connections(&self, a: &str, b: &str) -> usize {
        let mut world = self.world.borrow_mut();
        let wires = world.wires_between(a, b);
        for &wire in &wires {
            world.reset(wire);
        }
        wires.len()
    }

    /// Lets all connections between two hosts die silently; returns how many.
    pub fn drop_connections(&self, a: &str, b: &str) -> usize {
        let mut world = self.world.borrow_mut();
        let wires = world.wires_between(a, b);
        for &wire in &wires {
            world.silence(wire);
        }
        wires.len()
    }

    /// Makes the next `count` accepts of a host's reactors (of each) fail for lack of descriptors.
    pub fn fail_accepts(&self, host: &str, count: u32) {
        let mut world = self.world.borrow_mut();
        for node in world.nodes.iter_mut().filter(|node| &*node.host == host) {
            node.accept_failures = count;
        }
    }

    /// Stops a host's processes, as SIGSTOP does, or lets them go on: while frozen, time does not
    /// stop for what its reactors have to do, and the caller must not turn them. Its kernel takes
    /// and sends bytes as before, as far as buffers reach.
    pub fn set_frozen(&self, host: &str, frozen: bool) {
        let mut world = self.world.borrow_mut();
        for node in world.nodes.iter_mut().filter(|node| &*node.host == host) {
            node.frozen = frozen;
        }
    }

    /// When something next happens or a reactor next has something to do: now, if one has
    /// already; `None` if nothing will ever happen by itself.
    #[must_use]
    pub fn next_event_time(&self) -> Option<Instant> {
        self.world.borrow().next_event_time()
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.world.borrow().now()
    }

    /// The virtual time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.world.borrow().elapsed()
    }

    /// The fingerprint of the run so far.
    #[must_use]
    pub fn trace(&self) -> SimTrace {
        self.world.borrow().trace
    }

    /// Connections of which an end is open, dials included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.world
            .borrow()
            .wires
            .values()
            .filter(|wire| !wire.is_over())
            .count()
    }

    /// The seed, for the message of a failed test.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }
}
