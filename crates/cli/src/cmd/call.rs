//! `ringmain call`.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use ringmain_client::{Call, CallError, Client, Home, ResponseStream, StreamError};
use ringmain_codec::{InstanceId, Started, Status};
use ringmain_discovery::{Discovery, Registry};
use ringmain_reactor::DriverConfig;
use ringmain_telemetry::Telemetry;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{CallArgs, HomeArg};
use crate::engine::MAX_TOKENS;
use crate::exit::Exit;
use crate::output::{Latency, print, print_json, say};
use crate::{runtime, start};

/// Calls once and prints tokens as they come. The first ctrl-C asks the handler to stop, the
/// second drops the stream.
pub(crate) fn call(args: &CallArgs) -> anyhow::Result<Exit> {
    let data = read_data(&args.data)?;
    let runtime = runtime::current_thread()?;
    runtime.block_on(async {
        // Kept to the end: a client does not keep the shards running that it is at home on.
        let shards = match args.home {
            HomeArg::Inline => None,
            HomeArg::Shards => Some(start::shards(&args.io, DriverConfig::client())?),
        };
        let (home, telemetry) = match &shards {
            None => (Home::Inline, Telemetry::new(1)),
            Some(shards) => (
                Home::Shards(Arc::clone(shards)),
                Arc::clone(shards.telemetry()),
            ),
        };
        let discovery = Discovery::open(args.registry.clone(), Arc::clone(&telemetry))?;
        let source = Arc::new(discovery.clone());
        let client = Client::builder(source, home).telemetry(telemetry).build();
        wait_for_instance(&discovery, args).await?;
        let begin = Instant::now();
        let mut call = Call::new(data);
        for (key, value) in &args.metadata {
            call = call.metadata(key.clone(), value.clone());
        }
        if let Some(tokens) = args.max_tokens {
            call = call.metadata(MAX_TOKENS, tokens.to_string());
        }
        if let Some(deadline) = args.deadline {
            call = call.deadline(deadline);
        }
        if let Some(instance) = args.instance {
            call = call.instance(instance);
        }
        let mut reading = Reading::new(args, begin)?;
        match client.call(&args.endpoint, call).await {
            Ok(mut stream) => reading.read(&mut stream).await?,
            Err(error) => reading.error = Some(Failure::from(error)),
        }
        reading.report()
    })
}

fn read_data(data: &str) -> anyhow::Result<Bytes> {
    if data == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        return Ok(bytes.into());
    }
    match data.strip_prefix('@') {
        Some(file) => Ok(std::fs::read(file)
            .with_context(|| format!("cannot read {file}"))?
            .into()),
        None => Ok(Bytes::copy_from_slice(data.as_bytes())),
    }
}

/// Gives a registry that was just opened the time to show its instances. With none in time the
/// call itself says so, with its typed reason.
async fn wait_for_instance(discovery: &Discovery, args: &CallArgs) -> anyhow::Result<()> {
    let snapshots = discovery.watch(args.endpoint.clone()).await?;
    let wait = args
        .deadline
        .map_or(args.wait, |deadline| deadline.min(args.wait));
    let found = snapshots.wait_for(|snapshot| !snapshot.is_empty());
    match tokio::time::timeout(wait, found).await {
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Why a call or its answer failed, in one shape.
struct Failure {
    message: String,
    status: Status,
    started: Started,
    instance: Option<InstanceId>,
    limit: Option<String>,
    retry_after: Option<Duration>,
    retryable: bool,
}

impl Failure {
    /// The limit that was hit, where the message does not name it.
    fn shown_limit(&self) -> String {
        match &self.limit {
            Some(limit) if !self.message.contains(limit) => format!(" (limit: {limit})"),
            _ => String::new(),
        }
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        Self {
            message: error.to_string(),
            status: error.status,
            started: error.started,
            instance: error.instance,
            retryable: error.is_retryable(),
            limit: error.limit,
            retry_after: error.retry_after,
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let rejected = match &error {
            CallError::Rejected(error) => Some(error.clone()),
            _ => None,
        };
        let limit = match &error {
            CallError::Overloaded { limit } => Some((*limit).to_owned()),
            _ => rejected.as_ref().and_then(|error| error.limit.clone()),
        };
        Self {
            message: error.to_string(),
            status: error.status(),
            started: error.started(),
            instance: error.instance(),
            limit,
            retry_after: rejected.and_then(|error| error.retry_after),
            retryable: error.is_retryable(),
        }
    }
}

/// One answer as it is read.
struct Reading<'a> {
    args: &'a CallArgs,
    begin: Instant,
    interrupt: Signal,
    interrupts: u32,
    tokens: u64,
    bytes: u64,
    text: Vec<u8>,
    first: Option<Duration>,
    last: Option<Instant>,
    itl: Latency,
    instance: Option<String>,
    started: String,
    status: String,
    trailers: Vec<(String, Value)>,
    error: Option<Failure>,
}

impl<'a> Reading<'a> {
    fn new(args: &'a CallArgs, begin: Instant) -> anyhow::Result<Self> {
        Ok(Self {
            args,
            begin,
            interrupt: signal(SignalKind::interrupt())?,
            interrupts: 0,
            tokens: 0,
            bytes: 0,
            text: Vec::new(),
            first: None,
            last: None,
            itl: Latency::new(),
            instance: None,
            started: String::new(),
            status: String::new(),
            trailers: Vec::new(),
            error: None,
        })
    }

    async fn read(&mut self, stream: &mut ResponseStream) -> anyhow::Result<()> {
        self.instance = Some(stream.instance().to_string());
        loop {
            tokio::select! {
                biased;
                _ = self.interrupt.recv() => self.interrupted(stream),
                item = stream.next() => match item {
                    Some(Ok(token)) => self.token(stream, &token)?,
                    Some(Err(error)) => {
                        self.error = Some(Failure::from(error));
                        break;
                    }
                    None => break,
                },
            }
        }
        self.started = stream.started().to_string();
        if let Some(end) = stream.end() {
            end.status().name().clone_into(&mut self.status);
            for (key, value) in end.trailers().iter() {
                let value = String::from_utf8_lossy(value).into_owned();
                self.trailers
                    .push((String::from_utf8_lossy(key).into_owned(), value.into()));
            }
        }
        Ok(())
    }

    fn interrupted(&mut self, stream: &ResponseStream) {
        self.interrupts += 1;
        if self.interrupts == 1 {
            say(format_args!("stopping; ctrl-C again drops the stream"));
            stream.stop();
        } else {
            stream.kill();
        }
    }

    fn token(&mut self, stream: &ResponseStream, token: &[u8]) -> anyhow::Result<()> {
        let now = Instant::now();
        match self.last.replace(now) {
            None => self.first = Some(now - self.begin),
            Some(last) => self.itl.record(now - last),
        }
        self.tokens += 1;
        self.bytes += token.len() as u64;
        if self.args.json {
            self.text.extend_from_slice(token);
        } else {
            print(token)?;
        }
        if self.args.stop_after == Some(self.tokens) {
            stream.stop();
        }
        Ok(())
    }

    fn report(self) -> anyhow::Result<Exit> {
        // A stop that was asked for is no failure.
        let stopped = self.args.stop_after.is_some() || self.interrupts == 1;
        let cancelled = self.status == "cancelled" && stopped;
        let failed = self.error.as_ref().filter(|_| !cancelled);
        let exit = if failed.is_some() {
            Exit::Negative
        } else {
            Exit::Ok
        };
        if self.args.json {
            print_json(&self.json(failed))?;
            return Ok(exit);
        }
        if self.tokens > 0 {
            print(b"\n")?;
        }
        if let Some(error) = failed {
            say(format_args!(
                "ringmain: {}{}",
                error.message,
                error.shown_limit()
            ));
        }
        Ok(exit)
    }

    fn json(&self, failed: Option<&Failure>) -> Value {
        let us = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let status = match failed {
            Some(error) => error.status.name(),
            None if self.status.is_empty() => "ok",
            None => &self.status,
        };
        let started = failed.map_or_else(|| self.started.clone(), |e| e.started.to_string());
        json!({
            "endpoint": self.args.endpoint.to_string(),
            "instance": self.instance.clone().or_else(|| Some(failed?.instance?.to_string())),
            "status": status,
            "started": started,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "text": String::from_utf8_lossy(&self.text),
            "ttft_us": self.first.map(us),
            "itl_us": self.itl.json(),
            "e2e_us": us(self.begin.elapsed()),
            "trailers": self.trailers.iter().cloned().collect::<serde_json::Map<_, _>>(),
            "error": failed.map(|error| json!({
                "message": error.message,
                "limit": error.limit,
                "retry_after_us": error.retry_after.map(us),
                "retryable": error.retryable,
            })),
        })
    }
}
