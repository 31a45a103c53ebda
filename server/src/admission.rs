//! Process-wide limits on running and waiting requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ringmain_shard::SharedWaker;
use ringmain_telemetry::{Gauge, Telemetry};

/// What the process may do with one more request.
#[derive(Debug)]
pub(crate) enum Admitted {
    /// Call the handler now.
    Run(Permit),
    /// Wait for a slot.
    Wait(Waiting),
    /// Refuse, naming the limit.
    Refuse(&'static str),
}

/// Counts of all shards together. One fetch-and-add per request and exit, none per token.
pub(crate) struct Admission {
    concurrency_max: usize,
    queue_max: usize,
    /// Requests whose first message is not whole yet; bounded by the streams of all links.
    arriving: AtomicUsize,
    running: AtomicUsize,
    waiting: AtomicUsize,
    draining: AtomicBool,
    telemetry: Arc<Telemetry>,
    /// Told when a slot is free and when nothing is left.
    freed: Box<dyn Fn() + Send + Sync>,
    quiet: SharedWaker,
}

impl Admission {
    pub(crate) fn new(
        concurrency_max: usize,
        queue_max: usize,
        telemetry: Arc<Telemetry>,
        freed: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            concurrency_max,
            queue_max,
            arriving: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            telemetry,
            freed: Box::new(freed),
            quiet: SharedWaker::default(),
        })
    }

    /// Lets a request in that has just been opened, unless the process drains. Whoever waits for
    /// the end of the drain then sees it: it enters before it looks, as the drain sets its flag
    /// before it counts.
    pub(crate) fn arrive(self: &Arc<Self>) -> Option<Arriving> {
        self.arriving.fetch_add(1, Ordering::SeqCst);
        let arriving = Arriving(Arc::clone(self));
        (!self.is_draining()).then_some(arriving)
    }

    /// Takes a slot or a place in the queue. A newcomer never overtakes those who wait.
    pub(crate) fn admit(self: &Arc<Self>) -> Admitted {
        if self.waiting.load(Ordering::SeqCst) == 0
            && let Some(permit) = self.try_run()
        {
            return Admitted::Run(permit);
        }
        if enter(&self.waiting, self.queue_max) {
            self.telemetry.process().gauge_add(Gauge::RequestsQueued, 1);
            return Admitted::Wait(Waiting(Arc::clone(self)));
        }
        Admitted::Refuse(if self.queue_max == 0 {
            "concurrency_max"
        } else {
            "queue_max"
        })
    }

    /// Takes a slot if one is free.
    pub(crate) fn try_run(self: &Arc<Self>) -> Option<Permit> {
        enter(&self.running, self.concurrency_max).then(|| {
            let process = self.telemetry.process();
            process.gauge_add(Gauge::HandlersRunning, 1);
            Permit(Arc::clone(self))
        })
    }

    pub(crate) fn set_draining(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Requests arriving, waiting and running. Never 0 while there is one: a request enters its
    /// next count before it leaves the last, and they are read in its direction.
    pub(crate) fn in_flight(&self) -> usize {
        let arriving = self.arriving.load(Ordering::SeqCst);
        let waiting = self.waiting.load(Ordering::SeqCst);
        arriving + waiting + self.running.load(Ordering::SeqCst)
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Woken each time a request leaves.
    pub(crate) const fn quiet(&self) -> &SharedWaker {
        &self.quiet
    }
}

fn enter(count: &AtomicUsize, max: usize) -> bool {
    let enter = |now: usize| (now < max).then_some(now + 1);
    count
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter)
        .is_ok()
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission")
            .field("running", &self.running())
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

/// A request that is still arriving.
#[derive(Debug)]
pub(crate) struct Arriving(Arc<Admission>);

impl Drop for Arriving {
    fn drop(&mut self) {
        self.0.arriving.fetch_sub(1, Ordering::SeqCst);
        self.0.quiet.wake_after_change();
    }
}

/// One handler slot; free again when dropped, on whatever thread the handler ended.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Admission>);

impl Drop for Permit {
    fn drop(&mut self) {
        let process = self.0.telemetry.process();
        process.gauge_sub(Gauge::HandlersRunning, 1);
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        if self.0.waiting.load(Ordering::SeqCst) > 0 {
            (self.0.freed)();
        }
        self.0.quiet.wake_after_change();
    }
}

/// One place in the queue.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Admission>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let process = self.0.telemetry.process();
        process.gauge_sub(Gauge::RequestsQueued, 1);
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
        self.0.quiet.wake_after_change();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_and_come_back() {
        let freed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&freed);
        let admission = Admission::new(1, 1, Telemetry::new(0), move || {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let Admitted::Run(running) = admission.admit() else {
            panic!("a slot is free")
        };
        let Admitted::Wait(waiting) = admission.admit() else {
            panic!("the queue has room")
        };
        assert!(matches!(admission.admit(), Admitted::Refuse("queue_max")));
        drop(running);
        assert_eq!(
            freed.load(Ordering::SeqCst),
            1,
            "the waiting request hears of the slot"
        );
        assert!(
            matches!(admission.admit(), Admitted::Refuse(_)),
            "a newcomer does not overtake the one that waits"
        );
        let permit = admission.try_run();
        drop(waiting);
        drop(permit);
        assert_eq!(admission.in_flight(), 0);
    }

    #[test]
    fn what_arrives_is_in_flight_until_a_drain_begins() {
        let admission = Admission::new(1, 1, Telemetry::new(0), || {});
        let arriving = admission.arrive().expect("it does not drain");
        admission.set_draining();
        assert_eq!(admission.in_flight(), 1, "the drain waits for it");
        assert!(admission.arrive().is_none(), "nothing new is let in");
        assert_eq!(admission.in_flight(), 1, "what was refused is not counted");
        drop(arriving);
        assert_eq!(admission.in_flight(), 0);
    }

    #[test]
    fn without_a_queue_the_slots_are_the_limit() {
        let admission = Admission::new(0, 0, Telemetry::new(0), || {});
        assert!(matches!(
            admission.admit(),
            Admitted::Refuse("concurrency_max")
        ));
    }
}
