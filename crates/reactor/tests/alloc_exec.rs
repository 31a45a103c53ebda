//! A counting allocator: wakes, runs, timers and mailboxes allocate nothing once they are warm.
#![cfg(not(loom))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Poll, Waker as TaskWaker};
use std::thread;
use std::time::{Duration, Instant};

use ringmain_reactor::Waker;
use ringmain_reactor::exec::Executor;
use ringmain_reactor::mailbox;
use ringmain_reactor::timer::TimerWheel;

struct Counting;

thread_local! {
    /// Per thread, so that tests may run side by side.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it is; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: passed on to the caller.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ROUNDS: u32 = 1_000_000;

/// Runs `work` for a while and then for `rounds`, in which it must not allocate; prints the time
/// of a round.
#[expect(
    clippy::print_stdout,
    reason = "a figure for whoever runs it with --nocapture"
)]
fn steady(name: &str, rounds: u32, mut work: impl FnMut(u32)) {
    work(rounds / 100);
    let before = ALLOCATIONS.with(Cell::get);
    let start = Instant::now();
    work(rounds);
    let took = start.elapsed();
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    println!(
        "{name}: {:.1} ns, {allocations} allocations",
        took.as_nanos() as f64 / f64::from(rounds)
    );
    assert_eq!(allocations, 0, "{name}");
}

/// A task that leaves its waker in the slot at its first poll and never ends.
fn parked(exec: &mut Executor) -> TaskWaker {
    let slot = Rc::new(RefCell::new(None));
    let out = slot.clone();
    exec.spawn(poll_fn(move |cx| {
        if out.borrow().is_none() {
            *out.borrow_mut() = Some(cx.waker().clone());
        }
        Poll::<()>::Pending
    }))
    .detach();
    exec.run(usize::MAX);
    let Some(waker) = slot.borrow().clone() else {
        panic!("the task was polled");
    };
    waker
}

#[test]
fn local_wakes_and_runs_allocate_nothing() {
    let mut exec = Executor::new(Waker::noop());
    let wakers: Vec<_> = (0..64).map(|_| parked(&mut exec)).collect();
    steady("local wake + poll, 64 tasks a run", ROUNDS, |rounds| {
        for _ in 0..rounds / 64 {
            for waker in &wakers {
                waker.wake_by_ref();
            }
            assert_eq!(exec.run(usize::MAX), 64);
        }
    });
    steady("local wake + run, 1 task a run", ROUNDS, |rounds| {
        for _ in 0..rounds {
            wakers[0].wake_by_ref();
            assert_eq!(exec.run(usize::MAX), 1);
        }
    });
    steady("local wake by a cloned waker", ROUNDS, |rounds| {
        for _ in 0..rounds {
            black_box(wakers[0].clone()).wake();
            assert_eq!(exec.run(usize::MAX), 1);
        }
    });
    steady("prepare_park + unpark", ROUNDS, |rounds| {
        for _ in 0..rounds {
            assert!(exec.prepare_park());
            exec.unpark();
        }
    });
    steady("ring while awake", ROUNDS, |rounds| {
        for _ in 0..rounds {
            black_box(exec.doorbell()).ring();
        }
    });
}

#[test]
fn foreign_wakes_allocate_nothing_on_either_side() {
    const BATCH: u32 = 1_024;
    let mut exec = Executor::new(Waker::noop());
    let wakers: Vec<_> = (0..BATCH).map(|_| parked(&mut exec)).collect();
    let (start, starts) = mpsc::sync_channel::<()>(1);
    let (done, dones) = mpsc::sync_channel::<u64>(1);
    let thread = thread::spawn(move || {
        while starts.recv().is_ok() {
            let before = ALLOCATIONS.with(Cell::get);
            for waker in &wakers {
                waker.wake_by_ref();
            }
            done.send(ALLOCATIONS.with(Cell::get) - before).unwrap();
        }
    });
    let mut allocations = 0;
    for round in 0..(ROUNDS / BATCH) {
        start.send(()).unwrap();
        let foreign = dones.recv().unwrap();
        let before = ALLOCATIONS.with(Cell::get);
        assert_eq!(exec.run(usize::MAX), BATCH as usize);
        if round > 0 {
            allocations += foreign + ALLOCATIONS.with(Cell::get) - before;
        }
    }
    drop(start);
    thread.join().unwrap();
    assert_eq!(allocations, 0);
}

#[test]
fn mailboxes_allocate_nothing() {
    let (sender, mut receiver) = mailbox::channel(1_024, Waker::noop());
    steady("mailbox send + receive, awake", ROUNDS, |rounds| {
        for item in 0..rounds {
            assert!(sender.try_send(item).is_ok());
            assert_eq!(receiver.try_recv(), Some(item));
        }
    });
    steady("mailbox send, awake, in batches", ROUNDS, |rounds| {
        for _ in 0..rounds / 1_024 {
            for item in 0..1_024 {
                assert!(sender.try_send(item).is_ok());
            }
            while receiver.try_recv().is_some() {}
        }
    });
}

#[test]
fn timers_allocate_nothing() {
    let start = Instant::now();
    let mut wheel = TimerWheel::new(start);
    let deadline =
        |n: u32| start + Duration::from_micros(u64::from(n).wrapping_mul(7_919_017) % 90_000_000);
    let mut keys: Vec<_> = (0..10_000).map(|n| wheel.insert(deadline(n), n)).collect();
    steady("timer insert + cancel, 10,000 alive", ROUNDS, |rounds| {
        for n in 0..rounds {
            let place = n as usize % keys.len();
            assert!(wheel.cancel(keys[place]));
            keys[place] = wheel.insert(deadline(n), n);
        }
    });
    steady("next deadline", ROUNDS, |rounds| {
        for _ in 0..rounds {
            black_box(wheel.next_deadline());
        }
    });
    let mut now = start + Duration::from_secs(100);
    while wheel.poll_expired(now).is_some() {}
    steady("timer insert + expiry, 30 s ahead", ROUNDS, |rounds| {
        for n in 0..rounds {
            wheel.insert(now + Duration::from_secs(30), n);
            now += Duration::from_millis(3);
            while wheel.poll_expired(now).is_some() {}
        }
    });
}
