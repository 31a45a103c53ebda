//! All processes of a simulation, and time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringmain_client::{Client, ClientConfig, Home};
use ringmain_codec::InstanceId;
use ringmain_reactor::ListenOptions;
use ringmain_reactor::driver::sim::{SimConfig, SimNet};
use ringmain_server::Server;
use ringmain_telemetry::Counter;

use super::caller::{Errand, Reports, spawn};
use super::ledger::Ledger;
use super::process::{Process, ProcessId};
use super::registry::SimRegistry;
use super::worker::{WorkerPlan, serve_jobs};
use crate::handlers::serve_all;

/// Turns at one moment before the run counts as stuck.
const ROUNDS_MAX: usize = 100_000;

/// Processes on a simulated network, run by one thread in virtual time.
pub struct SimWorld {
    /// The network, to be disturbed.
    pub net: SimNet,
    /// Who serves.
    pub registry: Arc<SimRegistry>,
    /// What the handlers did.
    pub ledger: Ledger,
    /// What the callers saw.
    pub reports: Reports,
    processes: Vec<Option<Process>>,
    start: Instant,
}

impl SimWorld {
    /// A network without processes.
    pub fn new(seed: u64, config: SimConfig) -> Self {
        let net = SimNet::new(seed, config);
        let start = net.now();
        Self {
            net,
            registry: Arc::default(),
            ledger: Ledger::default(),
            reports: Reports::default(),
            processes: Vec::new(),
            start,
        }
    }

    /// Starts a worker and registers it.
    ///
    /// # Panics
    ///
    /// When it cannot listen.
    pub fn start_worker(&mut self, plan: &WorkerPlan) -> ProcessId {
        let mut process = Process::new(&self.net, &plan.host, plan.shards);
        let server = Server::new(Arc::clone(&process.set), plan.instance, plan.server.clone());
        serve_all(&server);
        serve_jobs(&server, &self.ledger);
        let listening = match server.begin_listen(&plan.listen, &ListenOptions::default()) {
            Ok(listening) => listening,
            Err(error) => panic!("{}: listen: {error}", plan.host),
        };
        process.server = Some(server);
        let id = self.add(process);
        self.settle();
        match listening.poll() {
            Some(Ok(address)) => self.registry.add(plan.instance, address),
            other => panic!("{}: listen: {other:?}", plan.host),
        }
        id
    }

    /// Starts a process with a client whose links live on its shards.
    pub fn start_client(
        &mut self,
        host: &str,
        shards: usize,
        config: ClientConfig,
    ) -> (ProcessId, Client) {
        let process = Process::new(&self.net, host, shards);
        let home = Home::Shards(Arc::clone(&process.set));
        let source = Arc::clone(&self.registry);
        let client = Client::builder(source, home).config(config).build();
        (self.add(process), client)
    }

    /// Gives a call to a client's process, which makes it when it is time.
    ///
    /// # Panics
    ///
    /// When the process is gone.
    pub fn assign(&self, process: ProcessId, client: &Client, errand: Errand) {
        let Some(ctx) = self.process(process).and_then(Process::ctx) else {
            panic!("the process of {errand:?} is gone")
        };
        spawn(ctx, client.clone(), errand, self.start, &self.reports);
    }

    /// Ends a process without a word, as SIGKILL does: its kernel closes what it held.
    pub fn kill(&mut self, process: ProcessId) {
        self.processes[process.0] = None;
    }

    /// Takes an instance out of the registry.
    pub fn deregister(&self, instance: InstanceId) {
        self.registry.remove(instance);
    }

    /// Asks the shards of a process to say goodbye and end within `within`.
    pub fn stop(&self, process: ProcessId, within: Duration) {
        if let Some(process) = self.process(process) {
            // Without threads there is nothing that could fail.
            drop(process.set.stop(within));
        }
    }

    /// Whether a process has ended.
    pub fn is_gone(&self, process: ProcessId) -> bool {
        self.process(process).is_none_or(Process::is_stopped)
    }

    /// The server of a worker.
    pub fn server(&self, process: ProcessId) -> Option<&Server> {
        self.process(process)?.server.as_ref()
    }

    /// A counter of a process; 0 if it is gone.
    pub fn counter(&self, process: ProcessId, counter: Counter) -> u64 {
        self.process(process)
            .map_or(0, |process| process.set.telemetry().counter_total(counter))
    }

    /// Links of a process.
    pub fn links(&self, process: ProcessId) -> u64 {
        self.process(process).map_or(0, Process::links)
    }

    /// Stops a process, as SIGSTOP does; its kernel goes on.
    pub fn freeze(&mut self, process: ProcessId) {
        self.set_frozen(process, true);
    }

    /// Lets it go on.
    pub fn thaw(&mut self, process: ProcessId) {
        self.set_frozen(process, false);
    }

    /// Lets all go on.
    pub fn thaw_all(&mut self) {
        for index in 0..self.processes.len() {
            self.set_frozen(ProcessId(index), false);
        }
    }

    fn set_frozen(&mut self, process: ProcessId, frozen: bool) {
        if let Some(process) = &mut self.processes[process.0] {
            process.frozen = frozen;
            self.net.set_frozen(&process.host, frozen);
        }
    }

    /// Virtual time since the start.
    pub fn elapsed(&self) -> Duration {
        self.net.now() - self.start
    }

    /// Runs until this long after the start.
    ///
    /// # Panics
    ///
    /// When a driver fails, or a moment never ends.
    pub fn run_until(&mut self, at: Duration) {
        self.run_while(at, |_| true);
    }

    /// Runs while `goes_on`, at most until this long after the start; whether it came to an end.
    ///
    /// # Panics
    ///
    /// When a driver fails, or a moment never ends.
    pub fn run_while(&mut self, at: Duration, mut goes_on: impl FnMut(&Self) -> bool) -> bool {
        let limit = self.start + at;
        loop {
            let next = self.settle();
            if !goes_on(self) {
                return true;
            }
            match next {
                Some(next) if next <= limit => self.net.advance_to(next),
                _ => {
                    self.net.advance_to(limit);
                    self.settle();
                    return !goes_on(self);
                }
            }
        }
    }

    /// What is left of calls, as text: nothing once all have ended.
    pub fn leftovers(&self) -> Vec<String> {
        let mut found: Vec<_> = self
            .processes
            .iter()
            .flatten()
            .flat_map(Process::leftovers)
            .collect();
        let running = self.ledger.running();
        if running > 0 {
            found.push(format!("handlers running: {running}"));
        }
        found
    }

    /// Turns every shard until none has work at this moment; when something comes next.
    fn settle(&mut self) -> Option<Instant> {
        for _ in 0..ROUNDS_MAX {
            for process in self
                .processes
                .iter_mut()
                .flatten()
                .filter(|process| !process.frozen)
            {
                if let Err(error) = process.turn() {
                    panic!("{}: {error}", process.host);
                }
            }
            let now = self.net.now();
            let waits = self
                .processes
                .iter_mut()
                .flatten()
                .filter(|process| !process.frozen);
            let next = waits
                .filter_map(Process::next_wait)
                .chain(self.net.next_event_time())
                .min();
            if next.is_none_or(|next| next > now) {
                return next;
            }
            // What is due in the network at this very moment.
            self.net.advance_to(now);
        }
        panic!(
            "seed {}: never at rest at {:?}",
            self.net.seed(),
            self.elapsed()
        );
    }

    fn add(&mut self, process: Process) -> ProcessId {
        self.processes.push(Some(process));
        ProcessId(self.processes.len() - 1)
    }

    fn process(&self, id: ProcessId) -> Option<&Process> {
        self.processes[id.0].as_ref()
    }
}
