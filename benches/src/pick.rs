//! Choosing an instance while the set changes: nanoseconds and allocations for each choice.
//!
//! One thread replaces the set at a fixed rate, as a registry's watch does; the other chooses in
//! batches, as a caller does that reads one snapshot for each decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ringmain_bench_harness::{Rep, float, now_ns};
use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::{CachedReader, Freshness, Instance, Publisher, TransportAddr};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Choices between two readings of the clock.
const BATCH: u64 = 1000;
/// Choices before the ones that are measured.
const WARM_UP: u64 = 100_000;

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
    std::thread::scope(|scope| {
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
    })
}

/// Takes one instance out and puts it back, a change at a time.
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
        let mut now = set.to_vec();
        if turn % 2 == 0 {
            now.remove(turn / 2 % set.len());
        }
        publisher.publish(now, Freshness::Current);
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
    state: u64,
}

impl<'a> Chooser<'a> {
    const fn new(policy: Policy, ids: &'a [InstanceId]) -> Self {
        Self {
            policy,
            ids,
            turn: 0,
            state: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Chooses once; the slot of what was chosen.
    fn one(&mut self, reader: &mut CachedReader) -> u32 {
        let snapshot = reader.load();
        let members = snapshot.members();
        let chosen = match self.policy {
            Policy::RoundRobin => {
                self.turn = if self.turn + 1 < members.len() {
                    self.turn + 1
                } else {
                    0
                };
                members.get(self.turn)
            }
            Policy::Random => {
                self.state ^= self.state << 13;
                self.state ^= self.state >> 7;
                self.state ^= self.state << 17;
                let high = u128::from(self.state) * members.len() as u128;
                members.get(usize::try_from(high >> 64).unwrap_or(0))
            }
            Policy::Direct => {
                self.turn = if self.turn + 1 < self.ids.len() {
                    self.turn + 1
                } else {
                    0
                };
                snapshot.find(self.ids[self.turn])
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
