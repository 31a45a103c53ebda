//! Carries out a plan.

use std::time::Duration;

use ringmain_client::Client;
use ringmain_codec::InstanceId;
use ringmain_reactor::driver::sim::SimTrace;
use ringmain_testkit::sim::{ProcessId, Report, SimWorld};

use crate::check::check;
use crate::plan::{Fault, Plan};

/// The host of the client.
const CLIENT: &str = "client";
/// After the last fault is mended every call has ended within this: three keepalive intervals, the
/// longest jobs and dials, and what the deadlines leave.
const CALLS_END_WITHIN: Duration = Duration::from_secs(30);
/// What was sent before the last fault was mended has arrived within this.
const STRAGGLERS_ARRIVE_WITHIN: Duration = Duration::from_secs(1);
/// Idle connections that died silently are found within this.
const LINKS_END_WITHIN: Duration = Duration::from_secs(60);

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) trace: SimTrace,
    pub(crate) reports: Vec<Report>,
    pub(crate) messages: u64,
}

struct Stage<'a> {
    plan: &'a Plan,
    world: SimWorld,
    workers: Vec<Option<ProcessId>>,
    instances: Vec<InstanceId>,
    caller: ProcessId,
    next_instance: u64,
}

/// Runs a plan to its end and checks all that must hold.
///
/// # Panics
///
/// With the seed, when something does not.
pub(crate) fn run(plan: &Plan) -> Ran {
    let mut world = SimWorld::new(plan.seed, plan.net.clone());
    let workers = plan
        .workers
        .iter()
        .map(|worker| Some(world.start_worker(worker)))
        .collect();
    let (caller, client) = world.start_client(CLIENT, plan.client_shards, plan.client.clone());
    for errand in &plan.errands {
        world.assign(caller, &client, errand.clone());
    }
    let instances = plan.workers.iter().map(|worker| worker.instance).collect();
    let mut stage = Stage {
        plan,
        world,
        workers,
        instances,
        caller,
        next_instance: 100,
    };
    for &(at, fault) in &plan.faults {
        stage.world.run_until(at);
        stage.apply(fault);
    }
    stage.mend();
    stage.finish(client)
}

impl Stage<'_> {
    fn apply(&mut self, fault: Fault) {
        let host = |worker: usize| self.plan.workers[worker].host.as_str();
        let net = &self.world.net;
        match fault {
            Fault::Part(worker, kind) => net.partition(CLIENT, host(worker), kind),
            Fault::Heal(worker) => net.heal(CLIENT, host(worker)),
            Fault::Reset(worker) => drop(net.reset_connections(CLIENT, host(worker))),
            Fault::Silence(worker) => drop(net.drop_connections(CLIENT, host(worker))),
            Fault::FailAccepts(worker) => net.fail_accepts(host(worker), 2),
            Fault::Kill(worker) => self.kill(worker),
            Fault::Start(worker) => self.start(worker),
            Fault::Replace(worker) => self.replace(worker),
            Fault::Drain(worker) => {
                let server = self.workers[worker].and_then(|id| self.world.server(id));
                if let Some(server) = server {
                    server.start_drain();
                }
            }
            Fault::Freeze(worker) => self.set_frozen(self.workers[worker], true),
            Fault::Thaw(worker) => self.set_frozen(self.workers[worker], false),
            Fault::FreezeClient => self.set_frozen(Some(self.caller), true),
            Fault::ThawClient => self.set_frozen(Some(self.caller), false),
        }
    }

    fn set_frozen(&mut self, process: Option<ProcessId>, frozen: bool) {
        match (process, frozen) {
            (Some(process), true) => self.world.freeze(process),
            (Some(process), false) => self.world.thaw(process),
            (None, _) => {}
        }
    }

    fn kill(&mut self, worker: usize) {
        if let Some(process) = self.workers[worker].take() {
            self.world.thaw(process);
            self.world.kill(process);
        }
    }

    /// The same instance comes back, as after a quick restart under the same lease.
    fn start(&mut self, worker: usize) {
        if self.workers[worker].is_none() {
            let mut plan = self.plan.workers[worker].clone();
            plan.instance = self.instances[worker];
            self.workers[worker] = Some(self.world.start_worker(&plan));
        }
    }

    /// Another instance takes the worker's place and address.
    fn replace(&mut self, worker: usize) {
        self.kill(worker);
        self.world.deregister(self.instances[worker]);
        self.next_instance += 1;
        if let Some(instance) = InstanceId::new(self.next_instance) {
            self.instances[worker] = instance;
        }
        self.start(worker);
    }

    /// Nothing is broken any more.
    fn mend(&mut self) {
        self.world
            .net
            .set_config(self.plan.net.clone().without_breakage());
        self.world.net.heal_all();
        self.world.thaw_all();
        for worker in 0..self.workers.len() {
            self.start(worker);
        }
    }

    fn finish(mut self, client: Client) -> Ran {
        let (plan, world) = (self.plan, &mut self.world);
        let last = plan
            .errands
            .iter()
            .map(|errand| errand.at)
            .max()
            .unwrap_or_default();
        let limit = world.elapsed().max(last) + CALLS_END_WITHIN;
        let ended = world.run_while(limit, |world| !world.reports.are_complete());
        let pending = world.reports.pending();
        let seed = plan.seed;
        let weather = plan.weather;
        assert!(
            ended,
            "seed {seed} ({weather:?}): these calls never end: {pending:#?}"
        );

        // What is on its way to the workers (kills, the last credit, what a partition held)
        // arrives.
        world.run_until(world.elapsed() + STRAGGLERS_ARRIVE_WITHIN);
        let limit = world.elapsed() + LINKS_END_WITHIN;
        world.run_while(limit, |world| !world.leftovers().is_empty());
        let leftovers = world.leftovers();
        assert!(
            leftovers.is_empty(),
            "seed {seed} ({weather:?}): left over: {leftovers:?}"
        );

        drop(client);
        let limit = world.elapsed() + LINKS_END_WITHIN;
        world.run_while(limit, |world| world.net.connections() > 0);
        let connections = world.net.connections();
        assert_eq!(
            connections, 0,
            "seed {seed} ({weather:?}): connections stay"
        );
        for process in self.workers.iter().flatten().chain([&self.caller]) {
            let links = world.links(*process);
            assert_eq!(
                links, 0,
                "seed {seed} ({weather:?}): {process:?} keeps links"
            );
        }
        let reports = world.reports.done();
        let messages = check(plan, &reports, &world.ledger);
        Ran {
            trace: world.net.trace(),
            reports,
            messages,
        }
    }
}
