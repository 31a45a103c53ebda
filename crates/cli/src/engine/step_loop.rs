//! The engine thread: every step pushes the due token of every running stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use ringmain_server::{Push, StepSink, StepWriter};

use super::Pace;

/// Tokens that fall due within one step leave together.
const STEP: Duration = Duration::from_millis(1);

/// What the tokens are.
#[derive(Clone, Debug)]
pub(super) enum Tokens {
    /// ` token0`, ` token1`, ...
    Made,
    /// The pieces of a text, over and over.
    Text(Arc<[Box<str>]>),
}

/// One stream that the engine serves.
pub(super) struct Job {
    sink: StepSink,
    next: u32,
    tokens: u32,
    fail_at: Option<u32>,
    ttft: Duration,
    itl: Duration,
    jitter: f64,
    random: u64,
    report: Arc<Report>,
}

/// What became of a job, for the handler that waits for it.
#[derive(Debug, Default)]
pub(super) struct Report {
    produced: AtomicU32,
    failed: AtomicBool,
}

impl Report {
    pub(super) fn produced(&self) -> u32 {
        self.produced.load(Ordering::Acquire)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }
}

impl Job {
    pub(super) fn new(sink: StepSink, tokens: u32, pace: &Pace, seed: u64) -> Self {
        let mut job = Self {
            sink,
            next: 0,
            tokens,
            fail_at: None,
            ttft: pace.ttft,
            itl: pace.itl,
            jitter: pace.jitter,
            random: seed,
            report: Arc::default(),
        };
        if job.roll() < pace.fail_ratio {
            let at = job.roll() * f64::from(tokens);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "below the number of tokens"
            )]
            #[expect(clippy::cast_sign_loss, reason = "not negative")]
            let at = at as u32;
            job.fail_at = Some(at);
        }
        job
    }

    pub(super) fn report(&self) -> Arc<Report> {
        Arc::clone(&self.report)
    }

    /// A number in 0..1 from the job's own seeded sequence (splitmix64).
    fn roll(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let unit = (z >> 11) as f64 / (1u64 << 53) as f64;
        unit
    }

    fn vary(&mut self, wait: Duration) -> Duration {
        if self.jitter == 0.0 {
            return wait;
        }
        let factor = self.jitter.mul_add(self.roll().mul_add(2.0, -1.0), 1.0);
        wait.mul_f64(factor.max(0.0))
    }
}

/// A running engine thread. Dropping it ends the thread once its jobs are done.
pub(super) struct StepLoop {
    jobs: Sender<Job>,
}

impl StepLoop {
    pub(super) fn start(name: &str, tokens: Tokens) -> anyhow::Result<Self> {
        let (jobs, incoming) = channel();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || Engine::new(tokens, incoming).run())
            .context("cannot start the engine thread")?;
        Ok(Self { jobs })
    }

    /// Hands a stream to the engine; the job comes back if the thread has ended.
    pub(super) fn submit(&self, job: Job) -> Result<(), Box<Job>> {
        self.jobs.send(job).map_err(|refused| Box::new(refused.0))
    }
}

struct Engine {
    tokens: Tokens,
    incoming: Receiver<Job>,
    writer: StepWriter,
    jobs: Vec<Option<Job>>,
    free: Vec<usize>,
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    scratch: String,
    /// A shard could not take all of the last step.
    behind: bool,
}

impl Engine {
    fn new(tokens: Tokens, incoming: Receiver<Job>) -> Self {
        Self {
            tokens,
            incoming,
            writer: StepWriter::new(),
            jobs: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            scratch: String::new(),
            behind: false,
        }
    }

    fn run(mut self) {
        loop {
            match self.wait() {
                Ok(job) => self.enter(job),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if self.due.is_empty() && !self.behind => {
                    return;
                }
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(STEP),
            }
            while let Ok(job) = self.incoming.try_recv() {
                self.enter(job);
            }
            self.step();
        }
    }

    /// Waits for a job or the next step; what a shard could not take goes with that.
    fn wait(&self) -> Result<Job, RecvTimeoutError> {
        let due = self.due.peek().map(|Reverse((at, _))| *at);
        let wait = due.map(|at| at.saturating_duration_since(Instant::now()));
        let Some(wait) = wait.or_else(|| self.behind.then_some(STEP)) else {
            let job = self.incoming.recv();
            return job.map_err(|_| RecvTimeoutError::Disconnected);
        };
        self.incoming.recv_timeout(wait)
    }

    fn enter(&mut self, mut job: Job) {
        let ttft = job.ttft;
        let at = Instant::now() + job.vary(ttft);
        let index = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() - 1
        });
        self.jobs[index] = Some(job);
        self.due.push(Reverse((at, index)));
    }

    /// Pushes one token for each stream that is due, then hands all of them over at once.
    fn step(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((at, index))) = self.due.peek() {
            if at > now + STEP / 2 {
                break;
            }
            self.due.pop();
            match self.advance(index) {
                Some(wait) => self.due.push(Reverse((at.max(now - STEP) + wait, index))),
                None => {
                    self.jobs[index] = None;
                    self.free.push(index);
                }
            }
        }
        self.behind = self.writer.flush().refused > 0;
    }

    /// The next token of one stream; how long until the one after, or `None` at its end.
    fn advance(&mut self, index: usize) -> Option<Duration> {
        let job = self.jobs[index].as_mut()?;
        let fails = job.fail_at == Some(job.next);
        if fails || job.next == job.tokens || job.sink.is_stopped() {
            job.report.failed.store(fails, Ordering::Release);
            self.writer.end(&job.sink);
            return None;
        }
        let token = match &self.tokens {
            Tokens::Made => {
                self.scratch.clear();
                // Writing into a string cannot fail.
                let _ok: std::fmt::Result = std::fmt::Write::write_fmt(
                    &mut self.scratch,
                    format_args!(" token{}", job.next),
                );
                self.scratch.as_bytes()
            }
            Tokens::Text(words) => words[job.next as usize % words.len()].as_bytes(),
        };
        match self.writer.push(&job.sink, token) {
            // The caller reads too slowly: this stream pauses, the others go on.
            Push::Full => return Some(STEP),
            Push::Killed | Push::Closed => return None,
            Push::Queued | Push::Stopped => {}
        }
        job.next += 1;
        job.report.produced.store(job.next, Ordering::Release);
        let itl = job.itl;
        Some(if job.next == job.tokens {
            Duration::ZERO
        } else {
            job.vary(itl)
        })
    }
}
