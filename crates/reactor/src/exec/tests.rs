use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker as TaskWaker};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::wake::Waker;

fn executor() -> (Executor, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    (Executor::new(Waker::flag(flag.clone())), flag)
}

/// Yields `times`, each time after waking itself.
async fn yield_times(times: usize) {
    let mut left = times;
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Leaves its waker in `slot` and waits until `done`.
async fn wait_for(slot: Rc<RefCell<Option<TaskWaker>>>, done: Rc<Cell<bool>>) {
    poll_fn(|cx| {
        *slot.borrow_mut() = Some(cx.waker().clone());
        if done.get() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Records the thread on which it is dropped.
struct DropNote(Rc<RefCell<Vec<thread::ThreadId>>>);

impl Drop for DropNote {
    fn drop(&mut self) {
        self.0.borrow_mut().push(thread::current().id());
    }
}

#[test]
fn a_spawned_task_runs_and_its_output_comes_back() {
    let (mut exec, _) = executor();
    let spawner = exec.handle();
    let result = Rc::new(Cell::new(0));
    let seen = result.clone();
    let outer = exec.spawn(async move {
        let inner = spawner.spawn(async { 20 + 1 });
        seen.set(inner.await.unwrap() * 2);
    });
    assert!(!exec.is_idle());
    while exec.run(16) > 0 {}
    assert!(outer.is_finished());
    assert_eq!(result.get(), 42);
    assert!(exec.is_idle());
    assert_eq!(exec.stats().live, 0);
}

#[test]
fn a_run_is_bounded_by_what_was_ready_and_by_max() {
    let (mut exec, _) = executor();
    for _ in 0..10 {
        exec.spawn(yield_times(2)).detach();
    }
    // (max, tasks run): all ten wake themselves twice, so there are thirty polls in all.
    let cases = [(100, 10), (4, 4), (100, 10), (100, 6), (100, 0)];
    for (max, ran) in cases {
        assert_eq!(exec.run(max), ran, "run({max})");
    }
}

#[test]
fn dropping_the_handle_cancels_and_detaching_does_not() {
    let (mut exec, _) = executor();
    let drops = Rc::new(RefCell::new(Vec::new()));
    let polled = Rc::new(Cell::new(0));
    for detach in [true, false] {
        let (note, polled) = (DropNote(drops.clone()), polled.clone());
        let task = exec.spawn(async move {
            let _note = note;
            polled.set(polled.get() + 1);
        });
        if detach {
            task.detach();
        } else {
            drop(task);
        }
    }
    exec.run(16);
    assert_eq!(polled.get(), 1);
    assert_eq!(drops.borrow().len(), 2);
    assert_eq!(exec.stats().live, 0);
}

#[test]
fn cancel_waits_for_the_drop_of_the_future() {
    let (mut exec, _) = executor();
    let drops = Rc::new(RefCell::new(Vec::new()));
    let note = DropNote(drops.clone());
    let task = exec.spawn(async move {
        let _note = note;
        pending::<()>().await;
    });
    exec.run(16);
    let seen = drops.clone();
    exec.spawn(async move {
        assert!(task.cancel().await.is_none());
        assert_eq!(seen.borrow().len(), 1);
    })
    .detach();
    while exec.run(16) > 0 {}
    assert_eq!(
        exec.stats(),
        ExecutorStats {
            spawned_total: 2,
            ran_total: 4,
            ..Default::default()
        }
    );
}

#[test]
fn a_panic_ends_its_task_alone() {
    let (mut exec, _) = executor();
    let outcome = Rc::new(RefCell::new(String::new()));
    let bad = exec.spawn(async { panic!("boom {}", 7) });
    let seen = outcome.clone();
    let watcher = exec.spawn(async move {
        let result: Result<(), TaskError> = bad.await;
        if let Err(TaskError::Panicked(panicked)) = result {
            *seen.borrow_mut() = panicked.message().to_owned();
        }
    });
    exec.spawn(async { std::panic::panic_any(7_u8) }).detach();
    let stats = exec.run_within(&RunLimits {
        tasks_max: 16,
        clock: None,
    });
    assert_eq!((stats.ran, stats.panics), (3, 2));
    while exec.run(16) > 0 {}
    assert!(watcher.is_finished());
    assert_eq!(*outcome.borrow(), "boom 7");
    assert_eq!(exec.stats().panics_total, 2);
    assert_eq!(exec.stats().live, 0);
}

#[test]
fn a_panic_in_a_destructor_ends_its_task_alone() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("on drop");
        }
    }
    let (mut exec, _) = executor();
    let bomb = Bomb;
    // Cancelled before its first poll, ended, and alive at the executor's end.
    drop(exec.spawn(async move {
        let _bomb = bomb;
    }));
    let bomb = Bomb;
    exec.spawn(async move {
        let _bomb = bomb;
    })
    .detach();
    let bomb = Bomb;
    exec.spawn(async move {
        let _bomb = bomb;
        pending::<()>().await;
    })
    .detach();
    let stats = exec.run_within(&RunLimits {
        tasks_max: 16,
        clock: None,
    });
    assert_eq!((stats.ran, stats.panics, exec.stats().live), (3, 2, 1));
    drop(exec);
}

#[test]
fn a_task_can_answer_for_a_panic_inside_of_it() {
    let (mut exec, _) = executor();
    let task = exec.spawn(async {
        let result = catch_panic(async {
            yield_times(1).await;
            panic!("handler");
        })
        .await;
        result.map_err(|panicked| panicked.message().to_owned())
    });
    while exec.run(16) > 0 {}
    let result: Result<(), String> = poll_ready(task).unwrap();
    assert_eq!(result, Err("handler".to_owned()));
    assert_eq!(exec.stats().panics_total, 0);
}

/// The output of a future that is ready.
fn poll_ready<F: Future>(future: F) -> F::Output {
    let mut future = Box::pin(future);
    let mut cx = std::task::Context::from_waker(TaskWaker::noop());
    match future.as_mut().poll(&mut cx) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future is not ready"),
    }
}

#[test]
fn the_end_of_the_executor_drops_every_future_here() {
    let (mut exec, _) = executor();
    let spawner = exec.handle();
    let drops = Rc::new(RefCell::new(Vec::new()));
    let slot = Rc::new(RefCell::new(None));
    let mut tasks = Vec::new();
    for parked in [true, false] {
        let (note, slot) = (DropNote(drops.clone()), slot.clone());
        let again = spawner.clone();
        tasks.push(exec.spawn(async move {
            let _note = note;
            let _late = SpawnOnDrop(again);
            wait_for(slot, Rc::default()).await;
        }));
        if parked {
            exec.run(16);
        }
    }
    let waker = slot.borrow_mut().take().unwrap();
    drop(exec);
    assert_eq!(*drops.borrow(), [thread::current().id(); 2]);
    for task in tasks {
        assert!(matches!(poll_ready(task), Err(TaskError::Cancelled)));
    }
    // What outlives the executor is harmless, wherever it is used.
    thread::spawn(move || waker.wake()).join().unwrap();
    assert!(matches!(
        poll_ready(spawner.spawn(async {})),
        Err(TaskError::Cancelled)
    ));
    assert!(spawner.try_spawn("late", async {}).unwrap().is_finished());
}

struct SpawnOnDrop(Spawner);

impl Drop for SpawnOnDrop {
    fn drop(&mut self) {
        self.0.spawn(async { panic!("not polled") }).detach();
    }
}

#[test]
fn a_foreign_wake_rings_and_a_local_one_does_not() {
    let (mut exec, flag) = executor();
    let slot = Rc::new(RefCell::new(None));
    let done = Rc::new(Cell::new(false));
    exec.spawn(wait_for(slot.clone(), done.clone())).detach();
    exec.run(16);

    assert!(exec.prepare_park());
    slot.borrow().as_ref().unwrap().wake_by_ref();
    assert!(!flag.load(Ordering::SeqCst));
    exec.unpark();
    assert_eq!(exec.run(16), 1);

    assert!(exec.prepare_park());
    let waker = slot.borrow_mut().take().unwrap();
    thread::spawn(move || waker.wake()).join().unwrap();
    assert!(flag.load(Ordering::SeqCst));
    assert_eq!(exec.doorbell().wakes_total(), 1);
    assert!(!exec.prepare_park());
    done.set(true);
    assert_eq!(exec.run(16), 1);
    assert!(exec.prepare_park());
    assert_eq!(exec.stats().live, 0);
}

#[test]
fn foreign_wakes_keep_their_order() {
    let (mut exec, _) = executor();
    let order = Rc::new(RefCell::new(Vec::new()));
    let mut wakers = Vec::new();
    for index in 0..5 {
        let slot = Rc::new(RefCell::new(None));
        let done = Rc::new(Cell::new(false));
        let (waits, order) = (wait_for(slot.clone(), done.clone()), order.clone());
        exec.spawn(async move {
            waits.await;
            order.borrow_mut().push(index);
        })
        .detach();
        exec.run(1);
        done.set(true);
        wakers.push(slot.take().unwrap());
    }
    thread::spawn(move || wakers.into_iter().for_each(TaskWaker::wake))
        .join()
        .unwrap();
    assert_eq!(exec.run(16), 5);
    assert_eq!(*order.borrow(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_cancelled_future_whose_waker_is_elsewhere_is_dropped_here() {
    let (mut exec, _) = executor();
    let drops = Rc::new(RefCell::new(Vec::new()));
    let slot = Rc::new(RefCell::new(None));
    let (note, waits) = (
        DropNote(drops.clone()),
        wait_for(slot.clone(), Rc::default()),
    );
    let task = exec.spawn(async move {
        let _note = note;
        waits.await;
    });
    exec.run(16);
    drop(task);
    let waker = slot.borrow_mut().take().unwrap();
    thread::spawn(move || drop(waker)).join().unwrap();
    exec.run(16);
    assert_eq!(*drops.borrow(), [thread::current().id()]);
    assert_eq!(exec.stats().live, 0);
}

#[test]
fn wakes_from_many_threads_are_not_lost() {
    let (mut exec, _) = executor();
    let producers = 3;
    let wakes = 2_000;
    let mut threads = Vec::new();
    for _ in 0..producers {
        let (sender, receiver) = std::sync::mpsc::channel::<TaskWaker>();
        threads.push(thread::spawn(move || {
            let mut count = 0;
            for waker in receiver {
                waker.wake();
                count += 1;
            }
            count
        }));
        exec.spawn(async move {
            for _ in 0..wakes {
                let mut sent = false;
                poll_fn(|cx| {
                    if std::mem::replace(&mut sent, true) {
                        return Poll::Ready(());
                    }
                    sender.send(cx.waker().clone()).unwrap();
                    Poll::Pending
                })
                .await;
            }
        })
        .detach();
    }
    while exec.stats().live > 0 {
        if exec.run(16) == 0 {
            thread::yield_now();
        }
    }
    for thread in threads {
        assert_eq!(thread.join().unwrap(), wakes);
    }
}

#[test]
fn the_end_of_the_executor_races_with_foreign_wakes() {
    for _ in 0..200 {
        let (mut exec, _) = executor();
        let drops = Rc::new(RefCell::new(Vec::new()));
        let mut wakers = Vec::new();
        for _ in 0..4 {
            let slot = Rc::new(RefCell::new(None));
            let (note, waits) = (
                DropNote(drops.clone()),
                wait_for(slot.clone(), Rc::default()),
            );
            exec.spawn(async move {
                let _note = note;
                waits.await;
            })
            .detach();
            exec.run(1);
            wakers.push(slot.take().unwrap());
        }
        let thread = thread::spawn(move || wakers.into_iter().for_each(TaskWaker::wake));
        drop(exec);
        assert_eq!(*drops.borrow(), [thread::current().id(); 4]);
        thread.join().unwrap();
    }
}

#[test]
fn tasks_max_refuses_or_counts() {
    let config = ExecutorConfig {
        tasks_max: 2,
        tasks_reserved: 64,
    };
    let mut exec = Executor::with_config(Waker::noop().into(), &config);
    let spawner = exec.handle();
    let keep = [(); 2].map(|()| spawner.try_spawn("parked", pending::<()>()).unwrap());
    let TasksFull(back) = spawner.try_spawn("third", async { 3 }).unwrap_err();
    let forced = spawner.spawn(back);
    exec.run(16);
    assert_eq!(poll_ready(forced).unwrap(), 3);
    assert_eq!(exec.stats().over_max_total, 2);
    drop(keep);
    exec.run(16);
    assert!(spawner.try_spawn("room again", async {}).is_ok());
}

#[test]
fn a_clock_bounds_the_run_and_names_the_longest_poll() {
    let start = Instant::now();
    let time = Rc::new(Cell::new(start));
    let spend = |exec: &Executor, name, ms| {
        let time = time.clone();
        let work = async move { time.set(time.get() + Duration::from_millis(ms)) };
        exec.handle().spawn_named(name, work).detach();
    };
    // (looks every n polls, stop after ms, tasks run, longest ms, its task, out of time)
    let cases = [
        (1, None, 4, 9, Some("slow"), false),
        (1, Some(5), 2, 9, Some("slow"), true),
        (2, None, 4, 10, None, false),
        (3, None, 4, 11, None, false),
        (8, Some(5), 4, 12, None, false),
        (1, Some(1), 1, 1, Some("fast"), true),
    ];
    for (every, stop_ms, ran, longest_ms, task, out_of_time) in cases {
        let (mut exec, _) = executor();
        spend(&exec, "fast", 1);
        spend(&exec, "slow", 9);
        spend(&exec, "fast", 1);
        spend(&exec, "fast", 1);
        let read = || time.get();
        let stats = exec.run_within(&RunLimits {
            tasks_max: 16,
            clock: Some(RunClock {
                read: &read,
                every: NonZeroUsize::new(every).unwrap(),
                stop_at: stop_ms.map(|ms| time.get() + Duration::from_millis(ms)),
            }),
        });
        let took = Duration::from_millis(longest_ms);
        let expect = RunStats {
            ran,
            panics: 0,
            ready: 4 - ran,
            out_of_time,
            longest: Some(Stretch { took, task }),
        };
        assert_eq!(stats, expect, "every {every}, stop {stop_ms:?}");
    }
}
