//! An open-loop load: calls start at their planned times, whatever the answers do.

mod recorder;
mod show;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ringmain_client::{Call, Client, ResponseStream};
use ringmain_codec::{EndpointId, Status};
use serde::Serialize;
use tokio::task::JoinSet;

pub(crate) use self::recorder::Recorders;
pub(crate) use self::show::{Quiet, Show, Terminal};
use crate::engine::{MAX_TOKENS, USAGE_TOKENS};
use crate::output::LatencyJson;

/// One call of a load.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// When it should start, from the start of the load.
    pub(crate) at: Duration,
    /// The request.
    pub(crate) data: Bytes,
    /// Tokens to ask for; `None` leaves it to the engine.
    pub(crate) tokens: Option<u32>,
    /// Drop the stream after so many tokens.
    pub(crate) cancel_after: Option<u32>,
}

/// What a load did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) streams_started: u64,
    pub(crate) streams_ok: u64,
    pub(crate) streams_cancelled: u64,
    pub(crate) streams_failed: u64,
    /// Failed streams by reason.
    pub(crate) failures: BTreeMap<String, u64>,
    pub(crate) tokens: u64,
    pub(crate) seconds: f64,
    pub(crate) io: &'static str,
    pub(crate) home: &'static str,
    pub(crate) ttft_us: LatencyJson,
    pub(crate) itl_us: LatencyJson,
    pub(crate) e2e_us: LatencyJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offered_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) achieved_per_s: Option<f64>,
}

/// How one call ended.
enum Ended {
    Ok,
    Cancelled,
    Failed(String),
}

/// Runs the whole plan; latencies count from each call's planned start.
pub(crate) async fn run(
    client: &Client,
    endpoint: &EndpointId,
    plan: Vec<Planned>,
    show: Arc<dyn Show>,
) -> Outcome {
    let recorders = Arc::new(Recorders::new());
    let begin = Instant::now();
    let mut starts: Option<(Instant, Instant)> = None;
    let mut running = JoinSet::new();
    let mut outcome = Outcome {
        started: plan.len() as u64,
        ..Outcome::default()
    };
    for (index, planned) in plan.into_iter().enumerate() {
        let intended = begin + planned.at;
        tokio::time::sleep_until(intended.into()).await;
        let now = Instant::now();
        starts = Some((starts.map_or(now, |(first, _)| first), now));
        let call = One {
            client: client.clone(),
            endpoint: endpoint.clone(),
            planned,
            index,
            intended,
            recorders: Arc::clone(&recorders),
            show: Arc::clone(&show),
        };
        running.spawn(call.run());
        while let Some(ended) = running.try_join_next() {
            outcome.add(ended, &*show);
        }
    }
    while let Some(ended) = running.join_next().await {
        outcome.add(ended, &*show);
    }
    outcome.took = begin.elapsed();
    outcome.start_span = starts.map_or(Duration::ZERO, |(first, last)| last - first);
    outcome.recorders = recorders;
    show.finish();
    outcome
}

/// Raw result of a load.
#[derive(Default)]
pub(crate) struct Outcome {
    started: u64,
    ok: u64,
    cancelled: u64,
    failures: BTreeMap<String, u64>,
    took: Duration,
    start_span: Duration,
    recorders: Arc<Recorders>,
}

impl Outcome {
    fn add(&mut self, ended: Result<Ended, tokio::task::JoinError>, show: &dyn Show) {
        match ended {
            Ok(Ended::Ok) => self.ok += 1,
            Ok(Ended::Cancelled) => self.cancelled += 1,
            Ok(Ended::Failed(reason)) => *self.failures.entry(reason).or_default() += 1,
            Err(error) => *self.failures.entry(error.to_string()).or_default() += 1,
        }
        show.ended();
    }

    /// The numbers for people and programs. `span` is the planned time of arrivals of a trace.
    pub(crate) fn summary(
        &self,
        io: &'static str,
        home: &'static str,
        span: Option<Duration>,
    ) -> Summary {
        let merged = self.recorders.merge();
        #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
        let per_s = |span: Duration| self.started as f64 / span.as_secs_f64().max(1e-9);
        Summary {
            streams_started: self.started,
            streams_ok: self.ok,
            streams_cancelled: self.cancelled,
            streams_failed: self.failures.values().sum(),
            failures: self.failures.clone(),
            tokens: merged.tokens,
            seconds: self.took.as_secs_f64(),
            io,
            home,
            ttft_us: merged.ttft.json(),
            itl_us: merged.itl.json(),
            e2e_us: merged.e2e.json(),
            offered_per_s: span.map(per_s),
            achieved_per_s: span.map(|_| per_s(self.start_span)),
        }
    }
}

struct One {
    client: Client,
    endpoint: EndpointId,
    planned: Planned,
    index: usize,
    intended: Instant,
    recorders: Arc<Recorders>,
    show: Arc<dyn Show>,
}

impl One {
    async fn run(self) -> Ended {
        let mut call = Call::new(self.planned.data.clone());
        if let Some(tokens) = self.planned.tokens {
            call = call.metadata(MAX_TOKENS, tokens.to_string());
        }
        match self.client.call(&self.endpoint, call).await {
            Ok(stream) => self.read(stream).await,
            Err(error) => Ended::Failed(error.to_string()),
        }
    }

    async fn read(&self, mut stream: ResponseStream) -> Ended {
        let mut tokens = 0u32;
        let mut previous: Option<Instant> = None;
        while let Some(item) = stream.next().await {
            let token = match item {
                Ok(token) => token,
                Err(error) => return Ended::Failed(error.to_string()),
            };
            let now = Instant::now();
            self.recorders
                .token(self.index, now - self.intended, previous.map(|at| now - at));
            previous = Some(now);
            tokens += 1;
            self.show.token(self.index, &token);
            if self.planned.cancel_after == Some(tokens) {
                return Ended::Cancelled;
            }
        }
        self.recorders.end(self.index, self.intended.elapsed());
        match missing(&stream, tokens) {
            None => Ended::Ok,
            Some(reason) => Ended::Failed(reason),
        }
    }
}

/// Why a stream that ended well is still not whole: its engine counted other tokens.
fn missing(stream: &ResponseStream, tokens: u32) -> Option<String> {
    let end = stream.end()?;
    if end.status() != Status::Ok {
        return Some(format!("ended as {}", end.status().name()));
    }
    let (_, usage) = end
        .trailers()
        .iter()
        .find(|(key, _)| *key == USAGE_TOKENS.as_bytes())?;
    let produced: u32 = std::str::from_utf8(usage).ok()?.parse().ok()?;
    (produced != tokens).then(|| format!("{tokens} tokens came of {produced}"))
}
