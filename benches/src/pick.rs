//! Choosing an instance while the set changes: nanoseconds and allocations for each choice.
//!
//! One thread replaces the set at a fixed rate, as a registry's watch does; the other chooses in
//! batches, as a caller does that reads one snapshot for each decision. The policies are the
//! client's own; what a client adds is its look at who is available.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ringmain_bench_harness::{Rep, allocations, count_allocations, float, now_ns};
use ringmain_client as client;
use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::{CachedReader, Freshness, Instance, Publisher, TransportAddr};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Choices between two readings of the clock.
const BATCH: u64 = 1000;
/// Choices before the ones that are measured.
const WARM_UP: u64 = 100_000;
/// Changes of the set, and a batch of choices after each, whose allocations are counted.
const COUNTED_CHANGES: usize = 100;

/// What one repetition measures.
#[derive(Clone, Debug)]
pub(crate) struct PickArgs {
    pub(crate) policy: Policy,
    pub(crate) instances: usize,
    pub(crate) changes_per_s: u64,
    pub(crate) window: Duration,
    /// CPUs of the choosing thread, and of the one that changes the set.
    pub(crate) cpus: (Vec<usize>, Vec<usize>),
}

/// How an instance is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Each in turn.
    RoundRobin,
    /// Any, with equal chance.
    Random,
    /// The one that the call names.
    Direct,
}

impl Policy {
    pub(crate) const ALL: [Self; 3] = [Self::RoundRobin, Self::Random, Self::Direct];

    /// Its name in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round_robin",
            Self::Random => "random",
            Self::Direct => "direct",
        }
    }
}

/// Measures one repetition; a failure is in the report.
pub(crate) fn run(args: &PickArgs) -> Vec<Rep> {
    let outcome = std::thread::scope(|scope| scope.spawn(|| measure(args)).join());
    let rep = match outcome {
        Ok(Ok(rep)) => rep,
        Ok(Err(error)) => Rep {
            failures: vec![format!("{error:#}")],
            ..Rep::default()
        },
        Err(_) => Rep {
            failures: vec!["the choosing thread panicked".to_owned()],
            ..Rep::default()
        },
    };
    vec![rep]
}

fn measure(args: &PickArgs) -> anyhow::Result<Rep> {
    let endpoint: EndpointId = "bench.worker.generate".parse()?;
    let mut set = Vec::new();
    for number in 0..args.instances {
        let id: InstanceId = format!("{:016x}", number + 1).parse()?;
        let address = TransportAddr::Tcp(([127, 0, 0, 1], 4000).into());
        set.push(Arc::new(Instance::new(id, endpoint.clone(), vec![address])));
    }
    let ids: Vec<InstanceId> = set.iter().map(|instance| instance.id).collect();
    let mut publisher = Publisher::new(endpoint);
    publisher.publish(set.clone(), Freshness::Current);
    let mut reader = publisher.handle().reader();
    let stop = AtomicBool::new(false);
    let changes = AtomicU64::new(0);
    let gap = Duration::from_nanos(1_000_000_000 / args.changes_per_s.max(1));
    let mut rep = std::thread::scope(|scope| {
        let changer = || {
            stay_on(&args.cpus.1)?;
            change(&mut publisher, &set, gap, &stop, &changes);
            anyhow::Ok(())
        };
        let changer = scope.spawn(changer);
        let outcome = stay_on(&args.cpus.0).map(|()| choose(args, &mut reader, &ids, &changes));
        stop.store(true, Ordering::Release);
        match changer.join() {
            Ok(changed) => changed.and(outcome),
            Err(_) => anyhow::bail!("the thread that changes the set panicked"),
        }
    })?;
    let counted = count(args.policy, &mut publisher, &set, &mut reader, &ids);
    rep.set("allocations_per_pick", counted);
    Ok(rep)
}

/// Allocations of one choice, the first one after a change included. Nothing else runs.
fn count(
    policy: Policy,
    publisher: &mut Publisher,
    set: &[Arc<Instance>],
    reader: &mut CachedReader,
    ids: &[InstanceId],
) -> f64 {
    count_allocations();
    let mut chooser = Chooser::new(policy, ids);
    let (mut counted, mut checksum) = (0, 0);
    for turn in 0..COUNTED_CHANGES {
        publisher.publish(changed(set, turn), Freshness::Current);
        let before = allocations();
        for _ in 0..BATCH {
            checksum ^= chooser.one(reader);
        }
        counted += allocations() - before;
    }
    std::hint::black_box(checksum);
    float(counted) / (float(BATCH) * crate::stats::float(COUNTED_CHANGES))
}

/// The set at a turn: one instance is out at each even one, and back at the next.
fn changed(set: &[Arc<Instance>], turn: usize) -> Vec<Arc<Instance>> {
    let mut now = set.to_vec();
    if turn.is_multiple_of(2) && !now.is_empty() {
        now.remove(turn / 2 % set.len());
    }
    now
}

/// Changes the set at a fixed rate.
fn change(
    publisher: &mut Publisher,
    set: &[Arc<Instance>],
    gap: Duration,
    stop: &AtomicBool,
    changes: &AtomicU64,
) {
    let mut next = Instant::now();
    let mut turn = 0;
    while !stop.load(Ordering::Acquire) {
        publisher.publish(changed(set, turn), Freshness::Current);
        changes.fetch_add(1, Ordering::Relaxed);
        turn += 1;
        next += gap;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

fn choose(
    args: &PickArgs,
    reader: &mut CachedReader,
    ids: &[InstanceId],
    changes: &AtomicU64,
) -> Rep {
    let mut chooser = Chooser::new(args.policy, ids);
    let mut checksum = 0;
    for _ in 0..WARM_UP {
        checksum ^= chooser.one(reader);
    }
    let mut rep = Rep::default();
    let Ok(mut batches) = Histogram::<u64>::new_with_bounds(1, 1_000_000_000, 3) else {
        return rep;
    };
    let first = changes.load(Ordering::Relaxed);
    let started = now_ns();
    let until = started + u64::try_from(args.window.as_nanos()).unwrap_or(u64::MAX);
    let (mut now, mut picks) = (started, 0);
    while now < until {
        for _ in 0..BATCH {
            checksum ^= chooser.one(reader);
        }
        let then = now_ns();
        batches.saturating_record((then - now).max(1));
        now = then;
        picks += BATCH;
    }
    std::hint::black_box(checksum);
    let seconds = float(now - started) / 1e9;
    rep.set("picks", float(picks));
    rep.set("pick_mean_ns", float(now - started) / float(picks));
    rep.set(
        "pick_p50_ns",
        float(batches.value_at_quantile(0.5)) / float(BATCH),
    );
    let changed = changes.load(Ordering::Relaxed) - first;
    rep.set("changes_per_s", float(changed) / seconds);
    rep
}

struct Chooser<'a> {
    policy: Policy,
    ids: &'a [InstanceId],
    turn: usize,
}

impl<'a> Chooser<'a> {
    const fn new(policy: Policy, ids: &'a [InstanceId]) -> Self {
        Self {
            policy,
            ids,
            turn: 0,
        }
    }

    /// Chooses once; the slot of what was chosen.
    fn one(&mut self, reader: &mut CachedReader) -> u32 {
        let snapshot = reader.load();
        let members = snapshot.members();
        let (len, turn) = (members.len(), &mut self.turn);
        let pick = |policy: client::Policy, turn| policy.pick(len, turn, |_| true);
        let chosen = match self.policy {
            Policy::RoundRobin => pick(client::Policy::RoundRobin, turn).map(|at| &members[at]),
            Policy::Random => pick(client::Policy::Random, turn).map(|at| &members[at]),
            Policy::Direct => {
                *turn = if *turn + 1 < self.ids.len() {
                    *turn + 1
                } else {
                    0
                };
                snapshot.find(self.ids[*turn])
            }
        };
        chosen.map_or(u32::MAX, |member| member.slot)
    }
}

fn stay_on(cpus: &[usize]) -> anyhow::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{PickArgs, Policy, run};

    #[test]
    fn every_policy_gives_its_figures() {
        for policy in Policy::ALL {
            let args = PickArgs {
                policy,
                instances: 8,
                changes_per_s: 1000,
                window: Duration::from_millis(10),
                cpus: (Vec::new(), Vec::new()),
            };
            let reps = run(&args);
            assert!(reps[0].failures.is_empty(), "{reps:?}");
            let figures = &reps[0].figures;
            assert!(figures["picks"] >= 1000.0 && figures["pick_mean_ns"] > 0.0);
        }
    }
}
