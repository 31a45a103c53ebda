//! An engine thread: one step pushes a token of every stream, then hands all of them over.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Context;
use ringmain_bench_harness::{Request, next_on_grid, now_ns, write_words};
use ringmain_server::{Push, StepSink, StepWriter};

/// Pause when every stream waits for its caller, or a shard could not take a whole step.
const BACK_OFF: Duration = Duration::from_micros(100);

/// A running engine. Dropping it ends the thread once its streams are done.
pub(super) struct Engine {
    jobs: Sender<(StepSink, Request)>,
}

impl Engine {
    /// `flush_every` untimed steps are handed over together; timed ones go one by one.
    pub(super) fn start(flush_every: usize) -> anyhow::Result<Self> {
        let (jobs, incoming) = channel();
        std::thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || Steps::new(incoming, flush_every).run())
            .context("cannot start the engine thread")?;
        Ok(Self { jobs })
    }

    /// Adds a stream; a stopped engine lets it end without items, which the client reports.
    pub(super) fn submit(&self, sink: StepSink, request: Request) {
        self.jobs.send((sink, request)).ok();
    }
}

struct Stream {
    sink: StepSink,
    request: Request,
    produced: u32,
    item: Vec<u8>,
}

struct Steps {
    incoming: Receiver<(StepSink, Request)>,
    flush_every: usize,
    writer: StepWriter,
    streams: Vec<Stream>,
    /// Time between steps; zero for one after the other.
    interval_ns: u64,
    due_ns: u64,
}

impl Steps {
    fn new(incoming: Receiver<(StepSink, Request)>, flush_every: usize) -> Self {
        Self {
            incoming,
            flush_every: flush_every.max(1),
            writer: StepWriter::new(),
            streams: Vec::new(),
            interval_ns: 0,
            due_ns: 0,
        }
    }

    fn run(mut self) {
        loop {
            if self.streams.is_empty() {
                match self.incoming.recv() {
                    Ok((sink, request)) => self.enter(sink, request),
                    Err(_) => return,
                }
            }
            while let Ok((sink, request)) = self.incoming.try_recv() {
                self.enter(sink, request);
            }
            self.wait_for_step();
            self.steps();
        }
    }

    fn enter(&mut self, sink: StepSink, request: Request) {
        if request.interval_ns != self.interval_ns || self.streams.is_empty() {
            self.interval_ns = request.interval_ns;
            if self.interval_ns > 0 {
                self.due_ns = next_on_grid(now_ns(), self.interval_ns);
            }
        }
        self.streams.push(Stream {
            sink,
            item: vec![0; request.item_bytes as usize],
            request,
            produced: 0,
        });
    }

    /// Takes new streams in until the next step is due.
    fn wait_for_step(&mut self) {
        if self.interval_ns == 0 {
            return;
        }
        loop {
            let left = self.due_ns.saturating_sub(now_ns());
            if left == 0 {
                return;
            }
            match self.incoming.recv_timeout(Duration::from_nanos(left)) {
                Ok((sink, request)) => self.enter(sink, request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(Duration::from_nanos(left));
                }
            }
        }
    }

    /// One step, or as many as go together; then the hand-over.
    fn steps(&mut self) {
        let timed = self.interval_ns > 0;
        let mut full = 0;
        for _ in 0..if timed { 1 } else { self.flush_every } {
            full += self.step(timed);
        }
        self.due_ns += self.interval_ns;
        let refused = self.writer.flush().refused;
        // An engine whose callers are behind does not spin on them.
        if refused > 0 || (full > 0 && !timed) {
            std::thread::sleep(BACK_OFF);
        }
        // Nothing may stay behind when there is no further step to take it along.
        while self.streams.is_empty() && self.writer.flush().refused > 0 {
            std::thread::sleep(BACK_OFF);
        }
    }

    /// A token of each stream; how many had no room.
    fn step(&mut self, timed: bool) -> usize {
        let words = (now_ns(), self.due_ns);
        let mut full = 0_usize;
        let writer = &mut self.writer;
        self.streams.retain_mut(|stream| {
            let words = if timed {
                words
            } else {
                (u64::from(stream.produced), 0)
            };
            write_words(&mut stream.item, words);
            match writer.push(&stream.sink, &stream.item) {
                Push::Queued | Push::Stopped => {
                    stream.produced += 1;
                }
                Push::Full => {
                    full += 1;
                    return true;
                }
                Push::Killed | Push::Closed => return false,
            }
            if stream.produced == stream.request.items {
                writer.end(&stream.sink);
                return false;
            }
            true
        });
        full
    }
}
