//! The time of a set, for threads that are not its shards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Tells the time that the shards of a set go by.
///
/// For a set with threads that is the machine's clock; for one that is turned by hand it is the
/// time of its latest turn, which may be virtual. Any thread; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<Turned>>);

#[derive(Debug)]
struct Turned {
    base: Instant,
    elapsed_ns: AtomicU64,
}

impl Clock {
    /// A clock that stands still at `now` until it is set.
    pub(crate) fn turned(now: Instant) -> Self {
        Self(Some(Arc::new(Turned {
            base: now,
            elapsed_ns: AtomicU64::new(0),
        })))
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.0.as_deref().map_or_else(Instant::now, |turned| {
            turned.base + Duration::from_nanos(turned.elapsed_ns.load(Ordering::Relaxed))
        })
    }

    /// Whether it shows the time of turns, not the machine's.
    pub(crate) const fn is_turned(&self) -> bool {
        self.0.is_some()
    }

    /// A turn has read `now`; shards of one set may do so in any order.
    pub(crate) fn set(&self, now: Instant) {
        if let Some(turned) = &self.0 {
            let elapsed = now.saturating_duration_since(turned.base).as_nanos();
            let elapsed_ns = u64::try_from(elapsed).unwrap_or(u64::MAX);
            turned.elapsed_ns.fetch_max(elapsed_ns, Ordering::Relaxed);
        }
    }
}
