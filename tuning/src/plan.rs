//! How many shards, and where.

use std::{fmt, num::NonZeroUsize, str::FromStr};

use crate::Allowed;

/// How many shards are wanted.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub enum ShardCount {
    /// One per allowed CPU, or per whole CPU of the quota where that is less.
    #[default]
    Auto,
    /// So many, whatever the machine offers.
    Exact(NonZeroUsize),
}

/// The text is neither `auto` nor a number above zero.
#[derive(Copy, Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the number of shards is `auto` or a number above 0")]
pub struct ParseShardCountError;

impl FromStr for ShardCount {
    type Err = ParseShardCountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            number => number
                .parse()
                .map(Self::Exact)
                .map_err(|_| ParseShardCountError),
        }
    }
}

impl fmt::Display for ShardCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Exact(count) => fmt::Display::fmt(count, f),
        }
    }
}

/// Whether shards are bound to CPUs.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub enum Pinning {
    /// Where each shard can have an allowed CPU for itself and no quota shares those CPUs with
    /// others.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// The text is neither `auto` nor `off`.
#[derive(Copy, Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("pinning is `auto` or `off`")]
pub struct ParsePinningError;

impl FromStr for Pinning {
    type Err = ParsePinningError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => Err(ParsePinningError),
        }
    }
}

impl fmt::Display for Pinning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Off => "off",
        })
    }
}

/// A number of shards and a CPU for each, or none.
///
/// Invariant: at least one shard; a CPU is given to at most one shard and is always one of the
/// allowed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CorePlan {
    shards: NonZeroUsize,
    pins: Result<Vec<usize>, Unpinned>,
    allowed: Allowed,
}

/// Why shards are not pinned.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Unpinned {
    Off,
    MoreShardsThanCpus,
    QuotaBelowCpus,
}

impl CorePlan {
    /// Plans for what is allowed. Pure.
    ///
    /// Shards are not pinned when there are more of them than CPUs, and when a quota is smaller
    /// than the CPU set: the CPUs are then shared with other groups, and every process would take
    /// the same first few.
    #[must_use]
    pub fn new(allowed: &Allowed, shards: ShardCount, pinning: Pinning) -> Self {
        let cpus = NonZeroUsize::new(allowed.cpus.len()).unwrap_or(NonZeroUsize::MIN);
        let paid = allowed.quota.map(|quota| quota.whole_cpus());
        let shards = match shards {
            ShardCount::Auto => paid.map_or(cpus, |paid| paid.min(cpus)),
            ShardCount::Exact(shards) => shards,
        };
        let pins = if pinning == Pinning::Off {
            Err(Unpinned::Off)
        } else if shards.get() > allowed.cpus.len() {
            Err(Unpinned::MoreShardsThanCpus)
        } else if paid.is_some_and(|paid| paid < cpus) {
            Err(Unpinned::QuotaBelowCpus)
        } else {
            Ok(allowed.cpus.iter().take(shards.get()).collect())
        };
        Self {
            shards,
            pins,
            allowed: allowed.clone(),
        }
    }

    /// Number of shards.
    #[must_use]
    pub fn shards(&self) -> NonZeroUsize {
        self.shards
    }

    /// The CPU that a shard is to be pinned to; `None` leaves it to the scheduler.
    #[must_use]
    pub fn cpu(&self, shard_index: usize) -> Option<usize> {
        self.pins.as_ref().ok()?.get(shard_index).copied()
    }

    /// One line for the start-up log: shards, pins or why there are none, and what it was derived
    /// from.
    #[must_use]
    pub fn describe(&self) -> String {
        let pinned = match &self.pins {
            Ok(pins) => pins
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(","),
            Err(Unpinned::Off) => "no (off)".to_owned(),
            Err(Unpinned::MoreShardsThanCpus) => "no (more shards than CPUs)".to_owned(),
            Err(Unpinned::QuotaBelowCpus) => "no (quota below the CPU set)".to_owned(),
        };
        let (shards, cpus) = (self.shards, &self.allowed.cpus);
        let quota = self
            .allowed
            .quota
            .map_or_else(|| "none".to_owned(), |quota| quota.to_string());
        format!("shards={shards} pinned={pinned} allowed={cpus} quota={quota}")
    }
}

#[cfg(test)]
mod tests;
