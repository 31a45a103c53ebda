//! An engine that steps all its streams at once, as a worker's model does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ringmain_server::{Push, StepSink, StepWriter};
use ringmain_shard::ShardCtx;

use super::job::Job;
use super::ledger::Ledger;

/// Time of one step.
const STEP: Duration = Duration::from_millis(3);

/// One process's engine: each step pushes a message of every stream, then hands all over at once.
#[derive(Clone, Default)]
pub(super) struct Engine {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    writer: StepWriter,
    streams: Vec<Stream>,
    running: bool,
}

struct Stream {
    sink: StepSink,
    job: Job,
    next: u32,
}

impl Engine {
    /// Takes a stream in; the engine runs on the shard of the first one for as long as it has any.
    pub(super) fn add(&self, ctx: &ShardCtx, ledger: &Ledger, sink: StepSink, job: Job) {
        let mut state = self.state();
        state.streams.push(Stream { sink, job, next: 0 });
        if std::mem::replace(&mut state.running, true) {
            return;
        }
        drop(state);
        let (engine, ctx_then, ledger) = (self.clone(), ctx.clone(), ledger.clone());
        ctx.spawn(async move {
            while engine.step(&ledger) {
                ctx_then.sleep_until(ctx_then.now() + STEP).await;
            }
        })
        .detach();
    }

    /// One step; false once no stream is left and everything was handed over.
    fn step(&self, ledger: &Ledger) -> bool {
        let mut state = self.state();
        let State {
            writer, streams, ..
        } = &mut *state;
        streams.retain_mut(|stream| stream.step(writer, ledger));
        let refused = writer.flush().refused;
        state.running = !state.streams.is_empty() || refused > 0;
        state.running
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    /// Pushes the next message; false once the stream has all of them, or wants no more.
    fn step(&mut self, writer: &mut StepWriter, ledger: &Ledger) -> bool {
        if self.next >= self.job.count {
            writer.end(&self.sink);
            return false;
        }
        match writer.push(&self.sink, &self.job.message(self.next)) {
            Push::Full => true,
            Push::Killed | Push::Closed => false,
            pushed @ (Push::Queued | Push::Stopped) => {
                ledger.sent(self.job.number);
                self.next += 1;
                if pushed == Push::Stopped {
                    writer.end(&self.sink);
                }
                pushed == Push::Queued
            }
        }
    }
}
