//! One repetition: start the jobs, open the window, read the meters at both its edges.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::Context;

use crate::board::{Board, Counts, Latency};
use crate::caller::Launcher;
use crate::clock::now_ns;
use crate::gate::Gate;
use crate::job::{Job, Template, Timed, Work};
use crate::loads;
use crate::plan::{Load, Plan};
use crate::process::{self, Meter};
use crate::report::{Rep, float};
use crate::request::{Kind, Request};
use crate::ticker::Ticker;
use crate::tracer::Tracer;

/// How long jobs get to end after the window.
const END_WITHIN: Duration = Duration::from_secs(30);

/// Runs one repetition on a connected client.
///
/// # Errors
///
/// If the load generator's timer thread cannot be started, or the server does not answer.
pub fn drive(launcher: Arc<dyn Launcher>, plan: &Plan) -> anyhow::Result<Rep> {
    let ticker = Ticker::start().context("cannot start the timer thread")?;
    let board = Arc::new(Board::new(launcher, ticker));
    let driver = Driver { board, plan };
    driver.fetch(Request::UNARY).context("a first call")?;
    match plan.load {
        Load::Burst => driver.bursts(),
        Load::Cancel => driver.cancels(),
        _ => driver.window(),
    }
}

struct Driver<'a> {
    board: Arc<Board>,
    plan: &'a Plan,
}

/// Meters of every process at one edge of the window.
struct Edge {
    at_ns: u64,
    counts: Counts,
    server: Meter,
    client: Meter,
    broker: Meter,
    server_allocations: u64,
    client_allocations: u64,
}

impl Driver<'_> {
    fn launch(&self, index: usize, work: Work) {
        let lane = index % self.board.launcher.lanes().max(1);
        let job = Job {
            work,
            board: Arc::clone(&self.board),
            lane,
        };
        self.board.launcher.launch(lane, job);
    }

    /// Asks the server for one word.
    fn fetch(&self, request: Request) -> anyhow::Result<u64> {
        let (reply, answer) = channel();
        self.launch(0, Work::Fetch { request, reply });
        let answer = answer.recv_timeout(END_WITHIN);
        let answer = answer.context("the server did not answer")?;
        answer.map_err(anyhow::Error::msg)
    }

    fn edge(&self) -> anyhow::Result<Edge> {
        let server_allocations = if self.plan.traced {
            self.fetch(Request {
                kind: Kind::Allocations,
                ..Request::UNARY
            })?
        } else {
            0
        };
        Ok(Edge {
            server_allocations,
            client_allocations: ringmain_bench_allocator::allocations(),
            server: Meter::read(self.plan.server_pid),
            client: Meter::read(std::process::id()),
            broker: self.plan.broker_pid.map(Meter::read).unwrap_or_default(),
            counts: self.board.counts(),
            at_ns: now_ns(),
        })
    }

    /// Loads that run by themselves: a warm-up, then a window.
    fn window(&self) -> anyhow::Result<Rep> {
        let jobs = loads::jobs(self.plan);
        for (index, work) in jobs.into_iter().enumerate() {
            self.launch(index, work);
        }
        std::thread::sleep(Duration::from_millis(self.plan.warm_up_ms));
        let tracers = self.tracers();
        let first = self.edge()?;
        self.board.set_measuring(true);
        std::thread::sleep(Duration::from_millis(self.plan.window_ms));
        self.board.set_measuring(false);
        let last = self.edge()?;
        let mut rep = self.figures(&first, &last, tracers);
        self.finish(&mut rep);
        Ok(rep)
    }

    /// Rounds of streams that open at one instant, until the window is over.
    fn bursts(&self) -> anyhow::Result<Rep> {
        self.burst()?;
        let tracers = self.tracers();
        let first = self.edge()?;
        self.board.set_measuring(true);
        let until = first.at_ns + self.plan.window_ms * 1_000_000;
        let mut rounds = 0;
        while now_ns() < until {
            self.burst()?;
            rounds += 1;
        }
        self.board.set_measuring(false);
        let last = self.edge()?;
        let mut rep = self.figures(&first, &last, tracers);
        rep.set("rounds", float(rounds));
        self.finish(&mut rep);
        Ok(rep)
    }

    fn burst(&self) -> anyhow::Result<()> {
        let gate = Arc::new(Gate::default());
        let template = loads::template(self.plan, Timed::Call);
        for index in 0..self.plan.streams {
            let mut template: Template = template.clone();
            template.request.id = index as u64;
            let gate = Arc::clone(&gate);
            self.launch(index, Work::Burst { template, gate });
        }
        let streams = self.plan.streams;
        self.launch(0, Work::OpenGate { gate, streams });
        self.wait_for_jobs()
    }

    fn cancels(&self) -> anyhow::Result<Rep> {
        let first = self.edge()?;
        self.board.set_measuring(true);
        let mut template = loads::template(self.plan, Timed::Nothing);
        template.request.kind = Kind::Endless;
        // Ids of other repetitions against the same server must not answer for these.
        template.request.id = now_ns();
        let rounds = self.plan.streams as u64;
        self.launch(0, Work::Cancel { template, rounds });
        let outcome = self.wait_for_jobs();
        self.board.set_measuring(false);
        let last = self.edge()?;
        let mut rep = self.figures(&first, &last, None);
        if let Err(error) = outcome {
            rep.failures.push(format!("{error:#}"));
        }
        self.finish(&mut rep);
        Ok(rep)
    }

    fn wait_for_jobs(&self) -> anyhow::Result<()> {
        // Jobs are counted when they first run: let the last one launched get there.
        let started = std::time::Instant::now();
        let mut quiet = 0;
        while quiet < 3 {
            std::thread::sleep(Duration::from_millis(1));
            quiet = if self.board.running() == 0 {
                quiet + 1
            } else {
                0
            };
            anyhow::ensure!(
                started.elapsed() < END_WITHIN,
                "{} jobs did not end",
                self.board.running()
            );
        }
        Ok(())
    }

    fn finish(&self, rep: &mut Rep) {
        self.board.stop();
        if let Err(error) = self.wait_for_jobs() {
            rep.failures.push(format!("{error:#}"));
        }
        let total = self.board.counts();
        rep.set("total_tokens", float(total.items));
        rep.set("total_calls", float(total.calls));
        rep.set("failed", float(self.board.failed()));
        rep.set("wrong", float(self.board.wrong()));
        rep.failures.extend(self.board.failures());
    }

    fn tracers(&self) -> Option<(Tracer, Tracer)> {
        let window = self.plan.window_ms;
        let start = |pid| Tracer::start(pid, window);
        self.plan
            .traced
            .then(|| (start(self.plan.server_pid), start(std::process::id())))
    }

    fn figures(&self, first: &Edge, last: &Edge, tracers: Option<(Tracer, Tracer)>) -> Rep {
        let mut rep = Rep::default();
        let seconds = float(last.at_ns - first.at_ns) / 1e9;
        let tokens = float(last.counts.items - first.counts.items);
        let server = last.server.since(first.server);
        let client = last.client.since(first.client);
        let broker = last.broker.since(first.broker);
        rep.set("seconds", seconds);
        rep.set("tokens", tokens);
        rep.set("tokens_per_s", tokens / seconds);
        let calls = float(last.counts.calls - first.counts.calls);
        rep.set("calls_per_s", calls / seconds);
        let bytes = float(last.counts.bytes - first.counts.bytes);
        rep.set("bytes_per_s", bytes / seconds);
        if tokens > 0.0 && !self.plan.traced {
            rep.set("server_ns_per_token", float(server.cpu_ns) / tokens);
            rep.set("client_ns_per_token", float(client.cpu_ns) / tokens);
            if self.plan.broker_pid.is_some() {
                rep.set("broker_ns_per_token", float(broker.cpu_ns) / tokens);
            }
            rep.set("server_cpu", float(server.cpu_ns) / 1e9 / seconds);
            rep.set("client_cpu", float(client.cpu_ns) / 1e9 / seconds);
            for what in Latency::ALL {
                rep.set_histogram(what.name(), &self.board.merged(what));
            }
        }
        if tokens > 0.0 && self.plan.traced {
            rep.set("server_switches_per_token", float(server.switches) / tokens);
            rep.set("client_switches_per_token", float(client.switches) / tokens);
            let server = last.server_allocations - first.server_allocations;
            let client = last.client_allocations - first.client_allocations;
            rep.set("server_allocations_per_token", float(server) / tokens);
            rep.set("client_allocations_per_token", float(client) / tokens);
        }
        if let Some((server, client)) = tracers {
            // The counts cover their own window, so rates are compared.
            let window = float(self.plan.window_ms) / 1000.0;
            let per_token = |calls: u64| float(calls) / window / (tokens / seconds);
            for (name, tracer) in [("server", server), ("client", client)] {
                if let Some(calls) = tracer.finish() {
                    rep.set(&format!("{name}_syscalls_per_token"), per_token(calls));
                }
            }
        }
        rep.set(
            "server_rss_kib",
            float(process::rss_kib(self.plan.server_pid)),
        );
        rep.set(
            "client_rss_kib",
            float(process::rss_kib(std::process::id())),
        );
        let connections = process::connections(self.plan.server_pid);
        rep.set("connections", float(connections));
        rep
    }
}
