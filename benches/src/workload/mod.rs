//! What is measured: the rows of each workload.

use crate::catalog::Class;

mod calls;
mod plant;
mod settings;
mod spec;
mod streams;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use self::settings::Settings;
pub(crate) use self::spec::Spec;
pub(crate) use self::trace::Arrivals;

/// The workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Workload {
    Floor,
    Rtt,
    Rps,
    Stream,
    Paced,
    Step,
    Burst,
    Cancel,
    Churn,
    Pick,
    Mixed,
    Relay,
    Fleet,
    Large,
    Trace,
}

impl Workload {
    /// All of them, in the order of `all`.
    pub(crate) const ALL: [Self; 15] = [
        Self::Floor,
        Self::Rtt,
        Self::Rps,
        Self::Stream,
        Self::Paced,
        Self::Step,
        Self::Burst,
        Self::Cancel,
        Self::Churn,
        Self::Pick,
        Self::Mixed,
        Self::Relay,
        Self::Fleet,
        Self::Large,
        Self::Trace,
    ];

    /// Its name in commands and results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Rtt => "rtt",
            Self::Rps => "rps",
            Self::Stream => "stream",
            Self::Paced => "paced",
            Self::Step => "step",
            Self::Burst => "burst",
            Self::Cancel => "cancel",
            Self::Churn => "churn",
            Self::Pick => "pick",
            Self::Mixed => "mixed",
            Self::Relay => "relay",
            Self::Fleet => "fleet",
            Self::Large => "large",
            Self::Trace => "trace",
        }
    }

    /// The workload of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.name() == name)
    }

    /// What it shows, in one line.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Floor => "ping-pong of 64 B without a protocol",
            Self::Rtt => "one call at a time, 64 B each way: until the stream's end",
            Self::Rps => "unary calls of 64 B",
            Self::Stream => "streams at full speed",
            Self::Paced => "streams of timed items, open loop: from when each item was due",
            Self::Step => "one item for each stream per step: from the step to the client",
            Self::Burst => "streams opened at one instant: time to first item",
            Self::Cancel => "from dropping a stream to the handler seeing it",
            Self::Churn => "connect, call once, leave",
            Self::Pick => "choosing an instance while the set changes",
            Self::Mixed => "calls beside long requests and consumers that never read",
            Self::Relay => "through a router and directly",
            Self::Fleet => "client lanes x instances, one item per stream per step",
            Self::Large => "large messages beside small items: latency of the small ones",
            Self::Trace => "calls at the times and of the lengths of a trace",
        }
    }

    /// The rows to measure. `arrivals` is the trace to play where it is no made one.
    pub(crate) fn specs(self, settings: &Settings, arrivals: Option<&Arrivals>) -> Vec<Spec> {
        let mut rows = spec::Rows::new(self, settings);
        match self {
            Self::Floor => calls::floor(&mut rows),
            Self::Rtt => calls::rtt(&mut rows),
            Self::Rps => calls::rps(&mut rows),
            Self::Churn => calls::churn(&mut rows),
            Self::Cancel => calls::cancel(&mut rows),
            Self::Stream => streams::full_speed(&mut rows),
            Self::Paced => streams::paced(&mut rows),
            Self::Step => streams::step(&mut rows),
            Self::Burst => streams::burst(&mut rows),
            Self::Mixed => streams::mixed(&mut rows),
            Self::Pick => plant::pick(&mut rows),
            Self::Relay => plant::relay(&mut rows),
            Self::Fleet => plant::fleet(&mut rows),
            Self::Large => plant::large(&mut rows),
            Self::Trace => trace::rows(&mut rows, arrivals),
        }
        rows.finish()
    }

    /// The system whose key figure others are shown as a multiple of, where it is a fixed one.
    pub(crate) fn floor_of(self, idle: Option<&str>) -> Option<&'static str> {
        match (self, idle) {
            (Self::Floor, _) => Some("tcp_block"),
            (Self::Rtt, Some("spin")) => Some("tcp_spin"),
            (Self::Rtt, _) => Some("tcp_block"),
            (Self::Paced, _) => Some("bare_mux"),
            _ => None,
        }
    }
}

/// Whether a system is no plane at all.
pub(crate) fn is_floor(system: &str) -> bool {
    crate::catalog::entry(system).is_some_and(|entry| entry.class == Class::Floor)
}

/// Whether a system can be the best peer.
pub(crate) fn is_peer(system: &str) -> bool {
    crate::catalog::entry(system).is_some_and(|entry| entry.class == Class::Peer)
}
