//! Small plans by hand.

use std::time::Duration;

use ringmain_client::{Client, ClientConfig};
use ringmain_codec::Status;
use ringmain_reactor::driver::sim::SimConfig;
use ringmain_server::{Keepalive, ServerConfig};
use ringmain_testkit::sim::{
    Errand, Fate, Habit, Job, JobKind, ProcessId, Report, Route, SimWorld, WorkerPlan,
};

/// The host of every client.
pub(crate) const CLIENT: &str = "client";

pub(crate) const fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A job without input, in 100 byte messages.
pub(crate) const fn job(number: u64, kind: JobKind, count: u32, pace: Duration) -> Job {
    let pace_us = pace.as_micros() as u32;
    Job {
        number,
        kind,
        count,
        size: 100,
        pace_us,
    }
}

/// A call whose caller reads as fast as it can.
pub(crate) const fn errand(at: Duration, job: Job, habit: Habit) -> Errand {
    Errand {
        at,
        job,
        request_bytes: 0,
        deadline: None,
        habit,
        route: Route::Client,
        read_pace: Duration::ZERO,
    }
}

/// Workers that ping after `interval`, and a client that does so after `client_interval`.
pub(crate) struct Cluster {
    pub(crate) world: SimWorld,
    pub(crate) plans: Vec<WorkerPlan>,
    pub(crate) workers: Vec<ProcessId>,
    pub(crate) caller: ProcessId,
    pub(crate) client: Client,
}

impl Cluster {
    pub(crate) fn new(workers: u8, interval: Duration, client_interval: Duration) -> Self {
        let mut world = SimWorld::new(u64::from(workers), SimConfig::calm());
        let keepalive = Keepalive {
            idle: interval,
            active: interval,
            ..Keepalive::default()
        };
        let server = ServerConfig {
            keepalive,
            ..ServerConfig::default()
        };
        let plan = |number| WorkerPlan {
            server: server.clone(),
            ..WorkerPlan::new(number)
        };
        let plans: Vec<_> = (1..=workers).map(plan).collect();
        let workers = plans.iter().map(|plan| world.start_worker(plan)).collect();
        let config = ClientConfig {
            keepalive_idle: client_interval,
            keepalive_active: client_interval,
            ..ClientConfig::default()
        };
        let (caller, client) = world.start_client(CLIENT, 1, config);
        Self {
            world,
            plans,
            workers,
            caller,
            client,
        }
    }

    pub(crate) fn host(&self, worker: usize) -> &str {
        &self.plans[worker].host
    }

    pub(crate) fn assign(&self, errand: Errand) {
        self.world.assign(self.caller, &self.client, errand);
    }

    /// Runs until every call has ended, and everything of them at the workers.
    pub(crate) fn finish(&mut self, within: Duration) -> Vec<Report> {
        let limit = self.world.elapsed() + within;
        let ended = self
            .world
            .run_while(limit, |world| !world.reports.are_complete());
        let pending = self.world.reports.pending();
        assert!(ended, "these calls never end: {pending:#?}");
        let limit = self.world.elapsed() + within;
        self.world
            .run_while(limit, |world| !world.leftovers().is_empty());
        assert_eq!(self.world.leftovers(), Vec::<String>::new());
        let reports = self.world.reports.done();
        assert!(!reports.is_empty(), "nothing was compared");
        for report in &reports {
            assert_eq!(report.faults, Vec::<String>::new(), "{report:?}");
        }
        reports
    }
}

/// Whether a call ended well, with all its messages.
pub(crate) fn is_whole(report: &Report) -> bool {
    let well = matches!(
        report.fate,
        Fate::Ended {
            status: Status::Ok,
            ..
        }
    );
    well && report.received == report.errand.job.answer_len()
}
