//! One call and everything that its caller does to it, as a task of a client's shard.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{Either, select};
use ringmain_client::{Call, CallError, Client, EndInfo, LocalStream, RequestSink};
use ringmain_client::{ResponseStream, StreamError};
use ringmain_codec::{EndpointId, RequestId, Started, Status};
use ringmain_shard::{ShardCtx, Sleep};

use super::job::Job;
use super::report::{Fate, Report};
use super::worker::JOB;

/// When a caller acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Once it has so many messages.
    Messages(u32),
    /// So long after the call was taken.
    Time(Duration),
}

/// What a caller does besides reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Nothing.
    Patient,
    /// Drops the call, if nobody has taken it after so long.
    Abandon(Duration),
    /// Asks to stop.
    Stop(When),
    /// Kills.
    Kill(When),
    /// Drops the stream of the response.
    Drop(When),
}

/// Through which face of the client a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The client for any thread.
    Client,
    /// The client of the shard; for calls without input.
    Local,
}

/// One call to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// When, in virtual time since the start.
    pub at: Duration,
    /// What for.
    pub job: Job,
    /// Bytes of the first message at least.
    pub request_bytes: usize,
    /// Time for all of it.
    pub deadline: Option<Duration>,
    /// What the caller does.
    pub habit: Habit,
    /// Which face of the client.
    pub route: Route,
    /// Pause before each message is taken.
    pub read_pace: Duration,
}

/// The reports of all callers.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    book: Rc<RefCell<Book>>,
}

#[derive(Debug, Default)]
struct Book {
    pending: BTreeMap<u64, Errand>,
    lost: BTreeSet<u64>,
    done: BTreeMap<u64, Report>,
}

impl Reports {
    /// Calls that have not ended.
    pub fn pending(&self) -> Vec<Errand> {
        self.book.borrow().pending.values().cloned().collect()
    }

    /// Whether every call has ended.
    pub fn are_complete(&self) -> bool {
        self.book.borrow().pending.is_empty()
    }

    /// Calls whose caller's process was killed.
    pub fn lost(&self) -> usize {
        self.book.borrow().lost.len()
    }

    /// The reports, by number of the call.
    pub fn done(&self) -> Vec<Report> {
        self.book.borrow().done.values().cloned().collect()
    }
}

/// A call under way; one that is dropped without a report is lost.
struct Pending {
    reports: Reports,
    number: u64,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut book = self.reports.book.borrow_mut();
        if book.pending.remove(&self.number).is_some() {
            book.lost.insert(self.number);
        }
    }
}

impl Pending {
    fn done(self, report: Report) {
        let mut book = self.reports.book.borrow_mut();
        book.pending.remove(&self.number);
        let before = book.done.insert(self.number, report);
        assert!(before.is_none(), "call {} is made twice", self.number);
    }
}

/// Starts the caller on its shard; `start` is the run's beginning.
pub(super) fn spawn(
    ctx: &ShardCtx,
    client: Client,
    errand: Errand,
    start: Instant,
    reports: &Reports,
) {
    let number = errand.job.number;
    reports
        .book
        .borrow_mut()
        .pending
        .insert(number, errand.clone());
    let pending = Pending {
        reports: reports.clone(),
        number,
    };
    let caller = Caller {
        ctx: ctx.clone(),
        client,
        errand,
        received: 0,
        faults: Vec::new(),
    };
    let here = ctx.clone();
    ctx.spawn(async move {
        here.sleep_until(start + caller.errand.at).await;
        let made = here.now();
        let (fate, caller) = caller.run().await;
        pending.done(Report {
            fate,
            received: caller.received,
            made: made - start,
            ended: here.now() - start,
            faults: caller.faults,
            errand: caller.errand,
        });
    })
    .detach();
}

struct Caller {
    ctx: ShardCtx,
    client: Client,
    errand: Errand,
    received: u32,
    faults: Vec<String>,
}

impl Caller {
    async fn run(mut self) -> (Fate, Self) {
        let opened = match self.errand.habit {
            Habit::Abandon(within) => {
                let late = self.after(within);
                let opened = match select(pin!(self.open()), late).await {
                    Either::Left((opened, _)) => Some(opened),
                    Either::Right(_) => None,
                };
                let Some(opened) = opened else {
                    return (Fate::Abandoned, self);
                };
                opened
            }
            _ => self.open().await,
        };
        let fate = match opened {
            Ok((sink, reader)) => {
                if let Some(sink) = sink {
                    let feed = feed(self.ctx.clone(), self.errand.job, sink);
                    self.ctx.spawn(feed).detach();
                }
                self.read(reader).await
            }
            Err(error) => Fate::Refused(error),
        };
        (fate, self)
    }

    fn after(&self, time: Duration) -> Sleep {
        self.ctx.sleep_until(self.ctx.now() + time)
    }

    async fn open(&self) -> Result<(Option<RequestSink>, Reader), CallError> {
        let Errand {
            job,
            request_bytes,
            deadline,
            route,
            ..
        } = self.errand;
        let mut id = [0; 16];
        id[..8].copy_from_slice(&job.number.to_le_bytes());
        let mut call = Call::new(job.request(request_bytes)).request_id(RequestId(id));
        if let Some(deadline) = deadline {
            call = call.deadline(deadline);
        }
        let Ok(endpoint) = JOB.parse::<EndpointId>() else {
            unreachable!("{JOB} is one")
        };
        if job.kind.takes_input() {
            let (sink, stream) = self.client.call_streaming(&endpoint, call).await?;
            return Ok((Some(sink), Reader::Any(stream)));
        }
        let local = match route {
            Route::Local => self.client.local(&self.ctx),
            Route::Client => None,
        };
        let reader = match local {
            Some(local) => Reader::Local(local.call(&endpoint, call).await?),
            None => Reader::Any(self.client.call(&endpoint, call).await?),
        };
        Ok((None, reader))
    }

    async fn read(&mut self, mut reader: Reader) -> Fate {
        let taken = self.ctx.now();
        let mut plan = match self.errand.habit {
            Habit::Patient | Habit::Abandon(_) => None,
            Habit::Stop(when) | Habit::Kill(when) | Habit::Drop(when) => Some(when),
        };
        loop {
            if self.is_due(plan, taken) {
                plan = None;
                if self.act(&reader) {
                    return Fate::Dropped;
                }
            }
            if !self.errand.read_pace.is_zero() {
                self.after(self.errand.read_pace).await;
            }
            let next = match plan {
                Some(When::Time(time)) => {
                    let due = self.ctx.sleep_until(taken + time);
                    match select(pin!(reader.next()), due).await {
                        Either::Left((next, _)) => next,
                        Either::Right(_) => continue,
                    }
                }
                _ => reader.next().await,
            };
            match next {
                Some(Ok(message)) => self.take(&message),
                Some(Err(error)) => return self.finish(&mut reader, Some(error)).await,
                None => return self.finish(&mut reader, None).await,
            }
        }
    }

    fn is_due(&self, plan: Option<When>, taken: Instant) -> bool {
        match plan {
            None => false,
            Some(When::Messages(count)) => self.received >= count,
            Some(When::Time(time)) => self.ctx.now() >= taken + time,
        }
    }

    /// Does what the habit says; true = drop the stream.
    fn act(&self, reader: &Reader) -> bool {
        match self.errand.habit {
            Habit::Stop(_) => reader.stop(),
            Habit::Kill(_) => reader.kill(),
            Habit::Drop(_) => return true,
            Habit::Patient | Habit::Abandon(_) => {}
        }
        false
    }

    fn take(&mut self, message: &[u8]) {
        if let Some(fault) = self.errand.job.find_fault(self.received, message) {
            self.faults.push(fault);
        }
        self.received += 1;
    }

    async fn finish(&mut self, reader: &mut Reader, error: Option<StreamError>) -> Fate {
        if reader.next().await.is_some() {
            self.faults.push(format!(
                "call {}: an item after the end",
                self.errand.job.number
            ));
        }
        let status = reader.end().map(EndInfo::status);
        match (&error, status) {
            (Some(error), Some(status)) if error.status == status => {}
            (None, Some(Status::Ok | Status::Cancelled)) => {}
            ends => self
                .faults
                .push(format!("call {}: ends {ends:?}", self.errand.job.number)),
        }
        let started = reader.started();
        Fate::Ended {
            status: status.unwrap_or(Status::Internal),
            started,
            error,
        }
    }
}

/// Sends the input of a call.
async fn feed(ctx: ShardCtx, job: Job, mut sink: RequestSink) {
    for index in 0..job.count {
        if sink.send(job.message(index)).await.is_err() {
            return;
        }
        if job.pace_us > 0 {
            ctx.sleep_until(ctx.now() + Duration::from_micros(u64::from(job.pace_us)))
                .await;
        }
    }
    sink.finish();
}

/// A response, through either face.
enum Reader {
    Any(ResponseStream),
    Local(LocalStream),
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Bytes, StreamError>> {
        match self {
            Self::Any(stream) => stream.next().await,
            Self::Local(stream) => stream.next().await,
        }
    }

    fn stop(&self) {
        match self {
            Self::Any(stream) => stream.stop(),
            Self::Local(stream) => stream.stop(),
        }
    }

    fn kill(&self) {
        match self {
            Self::Any(stream) => stream.kill(),
            Self::Local(stream) => stream.kill(),
        }
    }

    fn end(&self) -> Option<&EndInfo> {
        match self {
            Self::Any(stream) => stream.end(),
            Self::Local(stream) => stream.end(),
        }
    }

    fn started(&self) -> Started {
        match self {
            Self::Any(stream) => stream.started(),
            Self::Local(stream) => stream.started(),
        }
    }
}
