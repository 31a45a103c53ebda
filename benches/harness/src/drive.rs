//! One repetition: start the jobs, open the window, read the meters at both its edges.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::Context;

use crate::board::{Board, Latency};
use crate::caller::Launcher;
use crate::clock::now_ns;
use crate::gate::Gate;
use crate::job::{Job, Template, Timed, Work};
use crate::loads;
use crate::plan::{Load, Plan};
use crate::report::{Rep, float};
use crate::request::{Kind, Request};
use crate::ticker::Ticker;
use crate::window::Window;

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

    fn open(&self) -> anyhow::Result<Window<'_>> {
        let allocations = self.server_allocations()?;
        let window = Window::open(self.plan, || self.board.counts(), allocations);
        self.board.set_measuring(true);
        Ok(window)
    }

    fn close(&self, window: Window<'_>) -> anyhow::Result<Rep> {
        self.board.set_measuring(false);
        let allocations = self.server_allocations()?;
        let mut rep = window.close(|| self.board.counts(), allocations);
        if !self.plan.traced {
            for what in Latency::ALL {
                rep.set_histogram(what.name(), &self.board.merged(what));
            }
        }
        Ok(rep)
    }

    fn server_allocations(&self) -> anyhow::Result<Option<u64>> {
        if !self.plan.traced {
            return Ok(None);
        }
        let request = Request {
            kind: Kind::Allocations,
            ..Request::UNARY
        };
        self.fetch(request).map(Some)
    }

    /// Loads that run by themselves: a warm-up, then a window.
    fn window(&self) -> anyhow::Result<Rep> {
        let jobs = loads::jobs(self.plan);
        for (index, work) in jobs.into_iter().enumerate() {
            self.launch(index, work);
        }
        std::thread::sleep(Duration::from_millis(self.plan.warm_up_ms));
        let window = self.open()?;
        std::thread::sleep(Duration::from_millis(self.plan.window_ms));
        let mut rep = self.close(window)?;
        self.finish(&mut rep);
        Ok(rep)
    }

    /// Rounds of streams that open at one instant, until the window is over.
    fn bursts(&self) -> anyhow::Result<Rep> {
        self.burst()?;
        let window = self.open()?;
        let until = window.opened_ns() + self.plan.window_ms * 1_000_000;
        let mut rounds = 0;
        while now_ns() < until {
            self.burst()?;
            rounds += 1;
        }
        let mut rep = self.close(window)?;
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
        let window = self.open()?;
        let mut template = loads::template(self.plan, Timed::Nothing);
        template.request.kind = Kind::Endless;
        // Ids of other repetitions against the same server must not answer for these.
        template.request.id = now_ns();
        let rounds = self.plan.streams as u64;
        self.launch(0, Work::Cancel { template, rounds });
        let outcome = self.wait_for_jobs();
        let mut rep = self.close(window)?;
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
}
