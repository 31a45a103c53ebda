//! What the flags make of a workload's defaults.

use std::time::Duration;

use ringmain_bench_harness::Plan;

use crate::args::{Home, Idle, Io, LoadArgs, RunArgs, SystemArgs, YesNo};

/// Everything that decides which rows there are.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) load: LoadArgs,
    pub(crate) systems: SystemArgs,
    pub(crate) quick: bool,
    pub(crate) reps: u32,
    pub(crate) warm_up: Duration,
    pub(crate) window: Duration,
    pub(crate) traced: Option<YesNo>,
    /// The driver where no flag names one.
    pub(crate) io: Io,
}

/// One way to set ours up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) home: Home,
    pub(crate) idle: Idle,
    pub(crate) io: Io,
}

impl Settings {
    /// Settings from flags; `io` is what this host can run.
    pub(crate) fn new(args: &RunArgs, io: Io) -> Self {
        let method = &args.method;
        let (reps, window_ms, warm_up_ms) = match method.quick {
            true => (1, 250, 100),
            false => (3, 3000, 1000),
        };
        Self {
            load: args.load.clone(),
            systems: args.systems.clone(),
            quick: method.quick,
            reps: method.reps.unwrap_or(reps),
            warm_up: method
                .warm_up
                .unwrap_or_else(|| Duration::from_millis(warm_up_ms)),
            window: method
                .window
                .unwrap_or_else(|| Duration::from_millis(window_ms)),
            traced: method.traced,
            io,
        }
    }

    /// One value for a quick run, another for a full one.
    pub(crate) const fn quick_or<T: Copy>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Whether the flags let a system take part.
    pub(crate) fn wants(&self, system: &str) -> bool {
        let named = &self.systems.systems;
        named.is_empty() || named.iter().any(|name| name == system)
    }

    /// Whether the flags name a system.
    pub(crate) fn names(&self, system: &str) -> bool {
        self.systems.systems.iter().any(|name| name == system)
    }

    /// The ways to set ours up: the workload's own, each dimension overridden by its flag.
    pub(crate) fn variants(&self, defaults: &[(Home, Idle)]) -> Vec<Variant> {
        let mut variants = Vec::new();
        for &(home, idle) in defaults {
            for home in or_else(&self.systems.home, home) {
                for idle in or_else(&self.systems.idle, idle) {
                    for io in or_else(&self.systems.io, self.io) {
                        let variant = Variant { home, idle, io };
                        if !variants.contains(&variant) {
                            variants.push(variant);
                        }
                    }
                }
            }
        }
        variants
    }

    /// Applies the load's flags to a workload's plan.
    pub(crate) fn apply(&self, mut plan: Plan) -> Plan {
        let load = &self.load;
        plan.item_bytes = load.item_bytes.unwrap_or(plan.item_bytes);
        plan.request_bytes = load.request_bytes.unwrap_or(plan.request_bytes);
        plan.streams = load.streams.unwrap_or(plan.streams);
        plan.items = load.items.unwrap_or(plan.items);
        plan.connect.connections = load.connections.unwrap_or(plan.connect.connections);
        if plan.rate > 0 {
            plan.rate = load.rate.unwrap_or(plan.rate);
        }
        if let Some(interval) = load.interval.filter(|_| plan.interval_us > 0) {
            plan.interval_us = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX);
        }
        plan
    }
}

fn or_else<T: Copy>(flags: &[T], default: T) -> Vec<T> {
    if flags.is_empty() {
        vec![default]
    } else {
        flags.to_vec()
    }
}

/// Whole milliseconds of a flag.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
