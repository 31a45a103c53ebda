//! A shard's executor and its timers.

use std::cell::RefCell;
use std::future::poll_fn;
use std::hint::black_box;
use std::rc::Rc;
use std::task::{Poll, Waker as TaskWaker};
use std::time::{Duration, Instant};

use ringmain_reactor::Waker;
use ringmain_reactor::exec::Executor;
use ringmain_reactor::timer::TimerWheel;

use crate::Bench;
use crate::meter::counted;

const WAKES: usize = 1024;
const TASKS: usize = 64;
const TIMERS: usize = 1024;
/// Timers of a shard with so many streams, each with a deadline.
const TIMERS_ALIVE: usize = 10_000;

pub(crate) const BENCHES: &[Bench] = &[
    Bench {
        name: "exec/wake_poll_64",
        operations: WAKES,
        run: wake_poll,
    },
    Bench {
        name: "exec/spawn_finish_64",
        operations: WAKES,
        run: spawn_finish,
    },
    Bench {
        name: "timer/insert_cancel",
        operations: TIMERS,
        run: insert_cancel,
    },
    Bench {
        name: "timer/insert_expire",
        operations: TIMERS,
        run: insert_expire,
    },
];

/// Tasks that wait are woken on their own thread, and polled together.
fn wake_poll() {
    let mut exec = Executor::new(Waker::noop());
    let wakers: Rc<RefCell<Vec<TaskWaker>>> = Rc::default();
    for _ in 0..TASKS {
        let mut left = Some(Rc::clone(&wakers));
        let task = poll_fn(move |cx| {
            if let Some(wakers) = left.take() {
                wakers.borrow_mut().push(cx.waker().clone());
            }
            Poll::<()>::Pending
        });
        exec.spawn(task).detach();
    }
    assert_eq!(exec.run(usize::MAX), TASKS);
    let wakers = wakers.borrow();
    let mut all = || {
        for _ in 0..WAKES / TASKS {
            wakers.iter().for_each(TaskWaker::wake_by_ref);
            assert_eq!(exec.run(usize::MAX), TASKS);
        }
    };
    all();
    counted(all);
}

/// A task from its allocation to its end, which comes with its first poll.
fn spawn_finish() {
    let mut exec = Executor::new(Waker::noop());
    let mut all = || {
        for _ in 0..WAKES / TASKS {
            for number in 0..TASKS {
                exec.spawn(async move { black_box(number) }).detach();
            }
            assert_eq!(exec.run(usize::MAX), TASKS);
        }
    };
    all();
    counted(all);
}

/// A deadline up to 90 s ahead, scattered but the same in each run.
fn deadline(start: Instant, number: usize) -> Instant {
    start + Duration::from_micros((number as u64 * 7_919_017) % 90_000_000)
}

/// A stream's deadline that never comes.
fn insert_cancel() {
    let start = Instant::now();
    let mut wheel = TimerWheel::with_capacity(start, TIMERS_ALIVE);
    let mut keys: Vec<_> = (0..TIMERS_ALIVE)
        .map(|number| wheel.insert(deadline(start, number), number))
        .collect();
    let fresh: Vec<_> = (0..TIMERS)
        .map(|number| deadline(start, number + 1))
        .collect();
    let mut all = || {
        for (key, &deadline) in keys.iter_mut().zip(&fresh) {
            assert!(wheel.cancel(*key));
            *key = wheel.insert(black_box(deadline), 0);
        }
    };
    all();
    counted(all);
    assert_eq!(wheel.len(), TIMERS_ALIVE);
}

/// Timers thirty seconds ahead that all fire, 3 ms apart.
fn insert_expire() {
    let mut now = Instant::now();
    let mut wheel = TimerWheel::with_capacity(now, TIMERS_ALIVE);
    let mut fired = 0;
    let mut turn = || {
        wheel.insert(now + Duration::from_secs(30), 0);
        now += Duration::from_millis(3);
        while wheel.poll_expired(black_box(now)).is_some() {
            fired += 1;
        }
    };
    // From the first that fires, 10,000 turns in, each turn sets one and fires one.
    (0..11_000).for_each(|_| turn());
    counted(|| (0..TIMERS).for_each(|_| turn()));
    assert_eq!(fired + wheel.len(), 11_000 + TIMERS);
}
