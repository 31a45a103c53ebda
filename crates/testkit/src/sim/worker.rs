//! A worker of a simulation: a server whose handlers do jobs.

use std::time::Duration;

use ringmain_codec::InstanceId;
use ringmain_reactor::Address;
use ringmain_server::{HandlerError, LocalInput, LocalSink, Request, Server, ServerConfig};
use ringmain_shard::ShardCtx;

use super::engine::Engine;
use super::job::{Job, JobKind};
use super::ledger::Ledger;

/// The endpoint that does jobs.
pub(super) const JOB: &str = "test.worker.job";

/// What a worker is made of.
#[derive(Clone, Debug)]
pub struct WorkerPlan {
    /// Its host, which no other worker shares unless it takes this one's place.
    pub host: String,
    /// Its instance.
    pub instance: InstanceId,
    /// Where it listens.
    pub listen: Address,
    /// Shards.
    pub shards: usize,
    /// Limits.
    pub server: ServerConfig,
}

impl WorkerPlan {
    /// Worker `number`, from 1 on, with one shard and default limits, on a host of its own.
    ///
    /// # Panics
    ///
    /// For number 0.
    pub fn new(number: u8) -> Self {
        let Some(instance) = InstanceId::new(u64::from(number)) else {
            panic!("workers are numbered from 1")
        };
        Self {
            host: format!("worker-{number}"),
            instance,
            listen: Address::Ip(([10, 0, 0, number], 7000).into()),
            shards: 1,
            server: ServerConfig::default(),
        }
    }
}

pub(super) fn serve_jobs(server: &Server, ledger: &Ledger) {
    let Ok(endpoint) = JOB.parse() else {
        unreachable!("{JOB} is an endpoint id")
    };
    let (ledger, engine) = (ledger.clone(), Engine::default());
    let served = server.serve_local(endpoint, move |ctx| {
        let (ctx, ledger, engine) = (ctx.clone(), ledger.clone(), engine.clone());
        move |request, sink| {
            let work = Work {
                ctx: ctx.clone(),
                ledger: ledger.clone(),
                engine: engine.clone(),
                sink,
            };
            work.run(request)
        }
    });
    assert_eq!(served, Ok(()), "a fresh server serves each endpoint once");
}

/// One handler call.
struct Work {
    ctx: ShardCtx,
    ledger: Ledger,
    engine: Engine,
    sink: LocalSink,
}

impl Work {
    async fn run(mut self, request: Request<LocalInput>) -> Result<(), HandlerError> {
        let Request {
            data,
            mut input,
            context,
            head,
        } = request;
        let Some(job) = Job::read(&data) else {
            self.ledger.fault(format!(
                "request {:?}: {} bytes are no job",
                head.id,
                data.len()
            ));
            return Err(HandlerError::invalid_request("no job"));
        };
        let _entered = self.ledger.enter(job.number);
        match job.kind {
            JobKind::Emit | JobKind::Fail | JobKind::Panic => {
                for index in 0..job.count {
                    if context.is_stopped() {
                        return Ok(());
                    }
                    self.send(&job, index).await?;
                    self.pause(&job).await;
                }
                match job.kind {
                    JobKind::Fail => return Err(HandlerError::application("as asked")),
                    JobKind::Panic => panic!("a handler that panics, as asked"),
                    _ => {}
                }
            }
            JobKind::Echo => {
                let mut index = 0;
                while let Some(message) = input.next().await {
                    self.check(&job, index, &message);
                    self.send(&job, index).await?;
                    index += 1;
                }
            }
            JobKind::Take => {
                let mut index = 0;
                while let Some(message) = input.next().await {
                    self.check(&job, index, &message);
                    index += 1;
                    self.pause(&job).await;
                }
                if index == job.count {
                    self.send(&job, 0).await?;
                }
            }
            JobKind::Step => {
                let sink = self.sink.step_sink();
                let finished = sink.finished();
                self.engine.add(&self.ctx, &self.ledger, sink, job);
                finished.await;
            }
            JobKind::Hang | JobKind::Ignore => {
                self.send(&job, 0).await?;
                context.stopped().await;
                self.send(&job, 1).await?;
            }
        }
        Ok(())
    }

    async fn send(&mut self, job: &Job, index: u32) -> Result<(), HandlerError> {
        self.sink.send(&job.message(index)).await?;
        self.ledger.sent(job.number);
        Ok(())
    }

    async fn pause(&self, job: &Job) {
        if job.pace_us > 0 {
            let pause = Duration::from_micros(u64::from(job.pace_us));
            self.ctx.sleep_until(self.ctx.now() + pause).await;
        }
    }

    fn check(&self, job: &Job, index: u32, message: &[u8]) {
        if let Some(fault) = job.find_fault(index, message) {
            self.ledger.fault(format!("input of {fault}"));
        }
    }
}
