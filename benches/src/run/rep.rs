//! One repetition of one row: fresh processes, one report.

use std::time::Duration;

use anyhow::Context;
use ringmain_bench_harness::entry::Ready;
use ringmain_bench_harness::{Load, Plan, Rep};

use super::child::Process;
use crate::catalog::Programs;
use crate::workload::Spec;

/// How long a server may take until it can be reached; a broker starts in it.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// What a client may take beside its warm-up and window: connecting, and letting jobs end.
const BESIDE: Duration = Duration::from_secs(75);
/// Longest that one round of cancel takes when the handler never sees it.
const ROUND: Duration = Duration::from_millis(1500);

/// Where the ends of a repetition run.
#[derive(Clone, Debug)]
pub(crate) struct Cpus {
    pub(crate) server: Vec<usize>,
    pub(crate) client: Vec<usize>,
}

impl Cpus {
    /// Fails if this program may not use one of them.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let allowed = rustix::thread::sched_getaffinity(None).context("the allowed CPUs")?;
        for &cpu in self.server.iter().chain(&self.client) {
            if cpu >= rustix::thread::CpuSet::MAX_CPU || !allowed.is_set(cpu) {
                anyhow::bail!(
                    "CPU {cpu} is not among those this process may use: choose others with \
                     --server-cpus and --client-cpus"
                );
            }
        }
        Ok(())
    }
}

/// Runs one repetition.
///
/// # Errors
///
/// If a process cannot start, ends early or takes too long.
pub(crate) fn repetition(
    spec: &Spec,
    programs: &Programs,
    cpus: &Cpus,
    traced: bool,
) -> anyhow::Result<Rep> {
    if let Some(args) = &spec.pick {
        let mut reps = crate::pick::run(args);
        return reps.pop().context("the pick gave no figures");
    }
    let worker = Server::start(spec, programs, &cpus.server, traced, None)?;
    let router = match (spec.relay, worker.ready.addresses.first()) {
        (true, Some(upstream)) => {
            let router = Server::start(spec, programs, &cpus.server, traced, Some(upstream));
            Some(router.context("the router")?)
        }
        _ => None,
    };
    let plan = connected(&spec.plan, &worker, router.as_ref(), traced);
    let outcome = drive(spec, programs, &cpus.client, &plan);
    let mut rep = outcome?;
    if router.is_some() {
        // The question is passed on, so that the worker answers it.
        rename(
            &mut rep,
            "server_allocations_per_token",
            "worker_allocations_per_token",
        );
    }
    for server in [router, Some(worker)].into_iter().flatten() {
        server.leave();
    }
    Ok(rep)
}

/// The plan with the addresses and processes of this repetition. A router stands where the
/// server is, and the worker behind it where a broker would be.
fn connected(plan: &Plan, worker: &Server, router: Option<&Server>, traced: bool) -> Plan {
    let mut plan = plan.clone();
    let reached = router.unwrap_or(worker);
    plan.traced = traced;
    plan.server_pid = reached.ready.pid;
    plan.broker_pid = match router {
        Some(_) => Some(worker.ready.pid),
        None => worker.ready.broker_pid,
    };
    plan.connect.addresses.clone_from(&reached.ready.addresses);
    plan
}

struct Server {
    process: Process,
    ready: Ready,
}

impl Server {
    fn start(
        spec: &Spec,
        programs: &Programs,
        cpus: &[usize],
        traced: bool,
        upstream: Option<&str>,
    ) -> anyhow::Result<Self> {
        let (program, mut arguments) = programs.command(spec.system)?;
        arguments.push("serve".to_owned());
        arguments.extend(pinned(cpus));
        if traced {
            arguments.push("--count-allocations".to_owned());
        }
        for pair in &spec.serve {
            arguments.extend(["--set".to_owned(), pair.clone()]);
        }
        if spec.instances > 1 {
            arguments.extend(["--instances".to_owned(), spec.instances.to_string()]);
        }
        if let Some(address) = upstream {
            arguments.extend(["--upstream".to_owned(), address.to_owned()]);
        }
        let name = format!("the server of {}", spec.system.name);
        let mut process = Process::start(&name, &program, &arguments)?;
        let line = process.line(READY_WITHIN)?;
        let ready = serde_json::from_str(&line)
            .with_context(|| format!("{name} said {line:?} where its addresses were due"))?;
        Ok(Self { process, ready })
    }

    fn leave(mut self) {
        self.process.leave();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that is killed cannot end the broker that it started.
        let broker = self
            .ready
            .broker_pid
            .and_then(|pid| i32::try_from(pid).ok());
        let Some(pid) = broker.and_then(rustix::process::Pid::from_raw) else {
            return;
        };
        // Gone already is what is wanted.
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
    }
}

fn drive(spec: &Spec, programs: &Programs, cpus: &[usize], plan: &Plan) -> anyhow::Result<Rep> {
    let (program, mut arguments) = programs.command(spec.system)?;
    arguments.push("drive".to_owned());
    arguments.extend(pinned(cpus));
    let name = format!("the client of {}", spec.system.name);
    let mut process = Process::start(&name, &program, &arguments)?;
    process.tell(&serde_json::to_string(plan)?)?;
    let line = process.line(bound(plan))?;
    let rep = serde_json::from_str(&line)
        .with_context(|| format!("{name} said {line:?} where its report was due"))?;
    process.leave();
    Ok(rep)
}

/// Longest time that the client of a plan may take.
fn bound(plan: &Plan) -> Duration {
    let own = Duration::from_millis(plan.warm_up_ms + plan.window_ms);
    let rounds = match plan.load {
        Load::Cancel => u32::try_from(plan.streams).unwrap_or(u32::MAX),
        _ => 0,
    };
    own + BESIDE + ROUND.saturating_mul(rounds)
}

fn pinned(cpus: &[usize]) -> Vec<String> {
    if cpus.is_empty() {
        return Vec::new();
    }
    let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    vec!["--cpus".to_owned(), list.join(",")]
}

fn rename(rep: &mut Rep, from: &str, to: &str) {
    if let Some(value) = rep.figures.remove(from) {
        rep.figures.insert(to.to_owned(), value);
    }
}
