//! What runs on a system's executor: the same for every system.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::task::Poll;

use bytes::Bytes;

use crate::board::{Board, Latency};
use crate::caller::{Caller, Failure, Items};
use crate::clock::now_ns;
use crate::gate::Gate;
use crate::producer::read_words;
use crate::request::{Kind, REQUEST_BYTES, Request};

/// Items after which a stream of untimed items adds to the shared counts.
const COUNT_EVERY: u64 = 64;

/// One task of the load.
pub struct Job {
    /// What to do.
    pub work: Work,
    /// What all jobs share.
    pub board: Arc<Board>,
    /// Whose histograms to use.
    pub lane: usize,
}

/// The kinds of task.
pub enum Work {
    /// Calls in turn until told to stop.
    Loop(Template),
    /// One call, meant to start at `intended_ns`.
    Once {
        /// The call.
        template: Template,
        /// When it was meant to start.
        intended_ns: u64,
    },
    /// One call once the gate opens.
    Burst {
        /// The call.
        template: Template,
        /// What it waits for.
        gate: Arc<Gate>,
    },
    /// Opens the gate as soon as `streams` jobs wait at it.
    OpenGate {
        /// The gate.
        gate: Arc<Gate>,
        /// Jobs to wait for.
        streams: usize,
    },
    /// A call whose answer is never read, held until told to stop.
    Wedged(Template),
    /// Launches calls at their times: nanoseconds after `start_ns`.
    Pacer {
        /// The instant that times count from.
        start_ns: u64,
        /// When, and what.
        calls: Vec<(u64, Template)>,
    },
    /// Streams dropped after their first item.
    Cancel {
        /// An endless stream.
        template: Template,
        /// How many.
        rounds: u64,
    },
    /// Connects, calls once and leaves, until told to stop.
    Churn(Template),
    /// One call; its only item goes to `reply`.
    Fetch {
        /// The call.
        request: Request,
        /// Where the item's first word goes.
        reply: Sender<Result<u64, String>>,
    },
}

/// A call to make.
#[derive(Clone, Debug)]
pub struct Template {
    /// What to ask for.
    pub request: Request,
    /// Bytes to send, at least 64.
    pub request_bytes: usize,
    /// What [`Latency::Main`] is of.
    pub timed: Timed,
}

/// What a call's latency is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// The whole call.
    Call,
    /// Each item, from when it should have been produced.
    Item,
    /// Nothing: the call is there to be in the way of others.
    Nothing,
}

impl Template {
    fn encode(&self) -> Bytes {
        let head = self.request.encode();
        if self.request_bytes <= REQUEST_BYTES {
            return Bytes::copy_from_slice(&head);
        }
        let mut bytes = vec![0; self.request_bytes];
        bytes[..REQUEST_BYTES].copy_from_slice(&head);
        bytes.into()
    }
}

/// Runs a job to its end.
pub async fn run_job<C: Caller>(caller: C, job: Job) {
    let Job { work, board, lane } = job;
    let run = Run {
        caller,
        board: Arc::clone(&board),
        lane,
    };
    board.enter();
    match work {
        Work::Loop(template) => {
            while !board.is_stopping() {
                run.count(run.one(&template, now_ns()).await);
            }
        }
        Work::Once {
            template,
            intended_ns,
        } => {
            let late = now_ns().saturating_sub(intended_ns);
            board.record(lane, Latency::Generator, late);
            run.count(run.one(&template, intended_ns).await);
        }
        Work::Burst { template, gate } => {
            let opened = gate.pass().await;
            run.count(run.one(&template, opened).await);
        }
        Work::OpenGate { gate, streams } => {
            while gate.waiting() < streams {
                board.ticker.sleep_until(now_ns() + 1_000_000).await;
            }
            gate.open();
        }
        Work::Wedged(template) => run.wedged(&template).await,
        Work::Pacer { start_ns, calls } => run.pace(start_ns, calls).await,
        Work::Cancel { template, rounds } => run.cancel(&template, rounds).await,
        Work::Churn(template) => run.churn(&template).await,
        Work::Fetch { request, reply } => {
            let word = run.fetch(request).await.map_err(|e| format!("{e:#}"));
            // Nobody waits any more if the repetition was given up.
            reply.send(word).ok();
        }
    }
    board.leave();
}

struct Run<C> {
    caller: C,
    board: Arc<Board>,
    lane: usize,
}

impl<C: Caller> Run<C> {
    fn count(&self, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => self.board.add_call(),
            Err(failure) => self.board.add_failure(&failure),
        }
    }

    /// One call, read to its end and checked.
    async fn one(&self, template: &Template, intended_ns: u64) -> Result<(), Failure> {
        let mut items = self.caller.clone().call(template.encode()).await?;
        self.read(&mut items, template, intended_ns).await
    }

    async fn read(
        &self,
        items: &mut C::Items,
        template: &Template,
        intended_ns: u64,
    ) -> Result<(), Failure> {
        let size = template.request.item_bytes as usize;
        let every = match template.timed {
            Timed::Item => 1,
            Timed::Call | Timed::Nothing => COUNT_EVERY,
        };
        let mut counted = Counted::new(&self.board, every);
        let mut right = true;
        loop {
            let item = poll_fn(|cx| items.poll_item(cx, |item| (item.len(), read_words(item))));
            let Some((len, (first, second))) = item.await.transpose()? else {
                break;
            };
            right &= len == size;
            if counted.total == 0 && template.timed != Timed::Nothing {
                let ns = now_ns().saturating_sub(intended_ns);
                self.board.record(self.lane, Latency::FirstToken, ns);
            }
            if template.timed == Timed::Item && second > 0 {
                let now = now_ns();
                self.board
                    .record(self.lane, Latency::Main, now.saturating_sub(second));
                self.board
                    .record(self.lane, Latency::Produced, now.saturating_sub(first));
            } else if second == 0 {
                right &= first == counted.total;
            }
            counted.add(len);
        }
        right &= counted.total == u64::from(template.request.items);
        if !right {
            self.board.add_wrong();
        }
        if template.timed == Timed::Call {
            let ns = now_ns().saturating_sub(intended_ns);
            self.board.record(self.lane, Latency::Main, ns);
        }
        Ok(())
    }

    async fn wedged(&self, template: &Template) {
        let items = match self.caller.clone().call(template.encode()).await {
            Ok(items) => items,
            Err(failure) => return self.board.add_failure(&failure),
        };
        while !self.board.is_stopping() {
            self.board.ticker.sleep_until(now_ns() + 20_000_000).await;
        }
        drop(items);
    }

    async fn pace(&self, start_ns: u64, calls: Vec<(u64, Template)>) {
        let lanes = self.board.launcher.lanes().max(1);
        for (index, (after, template)) in calls.into_iter().enumerate() {
            let intended_ns = start_ns + after;
            self.board.ticker.sleep_until(intended_ns).await;
            if self.board.is_stopping() {
                return;
            }
            let work = Work::Once {
                template,
                intended_ns,
            };
            let lane = (self.lane + index) % lanes;
            let job = Job {
                work,
                board: Arc::clone(&self.board),
                lane,
            };
            self.board.launcher.launch(lane, job);
        }
    }

    /// Drops a stream at a varying phase after its first item, then asks the server when the
    /// handler saw it.
    async fn cancel(&self, template: &Template, rounds: u64) {
        for round in 0..rounds {
            if self.board.is_stopping() {
                return;
            }
            let outcome = self.cancel_one(template, round).await;
            self.count(outcome);
        }
    }

    async fn cancel_one(&self, template: &Template, round: u64) -> Result<(), Failure> {
        let mut template = template.clone();
        template.request.id += round;
        let mut items = self.caller.clone().call(template.encode()).await?;
        let first = poll_fn(|cx| items.poll_item(cx, |_| ()))
            .await
            .transpose()?;
        anyhow::ensure!(first.is_some(), "an endless stream ended");
        let phase = 1_500_000 + round * 20_000 % 4_000_000;
        self.board.ticker.sleep_until(now_ns() + phase).await;
        let dropped = now_ns();
        drop(items);
        let asked = Request {
            kind: Kind::CancelledAt,
            id: template.request.id,
            ..Request::UNARY
        };
        for _ in 0..200 {
            self.board.ticker.sleep_until(now_ns() + 5_000_000).await;
            let seen = self.fetch(asked).await?;
            if seen > 0 {
                let ns = seen.saturating_sub(dropped);
                self.board.record(self.lane, Latency::Main, ns);
                self.board.add_items(1, 0);
                return Ok(());
            }
        }
        anyhow::bail!("the handler never saw the cancel")
    }

    async fn churn(&self, template: &Template) {
        while !self.board.is_stopping() {
            let started = now_ns();
            let outcome = match self.caller.clone().fresh().await {
                Ok(caller) => {
                    let run = Self {
                        caller,
                        board: Arc::clone(&self.board),
                        lane: self.lane,
                    };
                    run.one(template, started).await
                }
                Err(failure) => Err(failure),
            };
            let failed = outcome.is_err();
            self.count(outcome);
            if failed {
                // A system that refuses connections must not be asked in a tight loop.
                self.board.ticker.sleep_until(now_ns() + 10_000_000).await;
            }
        }
    }

    async fn fetch(&self, request: Request) -> Result<u64, Failure> {
        let template = Template {
            request,
            request_bytes: REQUEST_BYTES,
            timed: Timed::Nothing,
        };
        let mut items = self.caller.clone().call(template.encode()).await?;
        let mut word = None;
        poll_fn(|cx| {
            loop {
                match items.poll_item(cx, |item| read_words(item).0) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(first))) => word = Some(first),
                    Poll::Ready(Some(Err(failure))) => return Poll::Ready(Err(failure)),
                    Poll::Ready(None) => return Poll::Ready(Ok(())),
                }
            }
        })
        .await?;
        word.ok_or_else(|| anyhow::anyhow!("an answer without an item"))
    }
}

/// Items of one stream, added to the shared counts now and then.
struct Counted<'a> {
    board: &'a Board,
    every: u64,
    total: u64,
    items: u64,
    bytes: u64,
}

impl<'a> Counted<'a> {
    const fn new(board: &'a Board, every: u64) -> Self {
        Self {
            board,
            every,
            total: 0,
            items: 0,
            bytes: 0,
        }
    }

    fn add(&mut self, bytes: usize) {
        self.total += 1;
        self.items += 1;
        self.bytes += bytes as u64;
        if self.items == self.every {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.board.add_items(self.items, self.bytes);
        self.items = 0;
        self.bytes = 0;
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
