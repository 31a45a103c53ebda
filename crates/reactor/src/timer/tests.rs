use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::{TimerKey, TimerWheel};

const DAY_MS: u64 = 24 * 3_600 * 1_000;
const TICK_US: u64 = 250;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_timer_fires_at_its_tick_and_not_before() {
    // (deadline in µs, first µs of a look that fires it)
    let cases = [
        (0, 0),
        (1, 250),
        (251, 500),
        (999, 1_000),
        (1_000, 1_000),
        (1_001, 1_250),
        (63_000, 63_000),
        (64_000, 64_000),
        (4_096_000, 4_096_000),
        (400 * DAY_MS * 1_000, 400 * DAY_MS * 1_000),
    ];
    let start = Instant::now();
    for (deadline, fires) in cases {
        let mut wheel = TimerWheel::new(start);
        wheel.insert(start + Duration::from_micros(deadline), ());
        assert_eq!(
            wheel.next_deadline(),
            Some(start + Duration::from_micros(fires))
        );
        if fires > 0 {
            let before = start + Duration::from_micros(fires) - Duration::from_nanos(1);
            assert_eq!(wheel.poll_expired(before), None, "{deadline}");
        }
        assert_eq!(
            wheel.poll_expired(start + Duration::from_micros(fires)),
            Some(())
        );
        assert_eq!((wheel.len(), wheel.next_deadline()), (0, None));
    }
}

#[test]
fn odd_times_are_harmless() {
    let start = Instant::now();
    let mut wheel = TimerWheel::new(start);
    assert_eq!(wheel.next_deadline(), None);
    // Before the origin, beyond the last tick, and a clock that steps back.
    wheel.insert(start - ms(5), 'a');
    let far = wheel.insert(start + ms(1 << 50), 'z');
    wheel.insert(start + ms(100), 'b');
    assert_eq!(wheel.poll_expired(start + ms(50)), Some('a'));
    assert_eq!(wheel.poll_expired(start + ms(50)), None);
    assert_eq!(wheel.poll_expired(start), None);
    wheel.insert(start + ms(20), 'c');
    assert_eq!(wheel.poll_expired(start + ms(10)), None);
    assert_eq!(wheel.poll_expired(start + ms(50)), Some('c'));
    assert_eq!(wheel.poll_expired(start + ms(1_000 * DAY_MS)), Some('b'));
    assert_eq!(wheel.poll_expired(start + ms(1_000 * DAY_MS)), None);
    assert!(wheel.cancel(far));
    assert!(wheel.is_empty());
}

#[test]
fn a_stale_key_cancels_nothing() {
    let start = Instant::now();
    let mut wheel = TimerWheel::new(start);
    let first = wheel.insert(start + ms(1), 1);
    assert!(wheel.cancel(first));
    let second = wheel.insert(start + ms(1), 2);
    assert!(!wheel.cancel(first));
    assert_eq!(wheel.poll_expired(start + ms(1)), Some(2));
    assert!(!wheel.cancel(second));
}

#[test]
fn one_tick_fires_in_order_of_insertion_whatever_the_level() {
    let start = Instant::now();
    let mut wheel = TimerWheel::new(start);
    let deadline = start + ms(70_000);
    for (value, now) in [0, 60_000, 69_900, 69_999].into_iter().enumerate() {
        assert_eq!(wheel.poll_expired(start + ms(now)), None);
        wheel.insert(deadline, value);
    }
    let mut fired = Vec::new();
    wheel.expire(deadline, &mut fired);
    assert_eq!(fired, [0, 1, 2, 3]);
}

#[test]
fn a_cancel_of_the_earliest_costs_one_look() {
    let start = Instant::now();
    let mut wheel = TimerWheel::new(start);
    let early = wheel.insert(start + ms(1_250), 1);
    wheel.insert(start + ms(1_750), 2);
    assert!(wheel.cancel(early));
    let look = wheel.next_deadline().unwrap();
    assert!(look <= start + ms(1_750));
    assert_eq!(wheel.poll_expired(look), None);
    assert_eq!(wheel.next_deadline(), Some(start + ms(1_750)));
}

#[derive(Clone, Debug)]
enum Op {
    Insert {
        after_us: u64,
    },
    Cancel {
        pick: usize,
    },
    Advance {
        by_us: u64,
    },
    /// Takes a few of what is due after `by_us` and leaves the rest.
    Take {
        by_us: u64,
        at_most: usize,
    },
    ToNext,
}

fn op() -> impl Strategy<Value = Op> {
    let span = || {
        prop_oneof![
            4 => 0..3_000_u64,
            4 => 0..200_000_u64,
            3 => 0..10_000_000_u64,
            2 => 0..(DAY_MS * 1_000),
            1 => 0..(40 * 365 * DAY_MS * 1_000),
        ]
    };
    prop_oneof![
        8 => span().prop_map(|after_us| Op::Insert { after_us }),
        4 => any::<usize>().prop_map(|pick| Op::Cancel { pick }),
        3 => span().prop_map(|by_us| Op::Advance { by_us }),
        2 => (span(), 0..4_usize).prop_map(|(by_us, at_most)| Op::Take { by_us, at_most }),
        3 => Just(Op::ToNext),
    ]
}

/// The wheel, and a sorted map of what must fire: (tick, insertion) to the timer's number.
struct Pair {
    start: Instant,
    now_us: u64,
    wheel: TimerWheel<u64>,
    model: BTreeMap<(u64, u64), TimerKey>,
    /// All times that a look has seen.
    seen_tick: u64,
    inserted: u64,
    dead: Vec<TimerKey>,
}

impl Pair {
    fn new() -> Self {
        let start = Instant::now();
        Self {
            start,
            now_us: 0,
            wheel: TimerWheel::new(start),
            model: BTreeMap::new(),
            seen_tick: 0,
            inserted: 0,
            dead: Vec::new(),
        }
    }

    fn now(&self) -> Instant {
        self.start + Duration::from_micros(self.now_us)
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Insert { after_us } => {
                let deadline = self.now() + Duration::from_micros(after_us);
                let key = self.wheel.insert(deadline, self.inserted);
                let tick = (self.now_us + after_us)
                    .div_ceil(TICK_US)
                    .max(self.seen_tick);
                self.model.insert((tick, self.inserted), key);
                self.inserted += 1;
            }
            Op::Cancel { pick } => {
                let Some((&at, &key)) = self.model.iter().nth(pick % self.model.len().max(1))
                else {
                    return;
                };
                self.model.remove(&at);
                assert!(self.wheel.cancel(key));
                self.dead.push(key);
            }
            Op::Advance { by_us } => {
                self.now_us += by_us;
                self.take(usize::MAX);
            }
            Op::Take { by_us, at_most } => {
                self.now_us += by_us;
                self.take(at_most);
            }
            Op::ToNext => {
                if let Some(next) = self.wheel.next_deadline() {
                    let next_us = next.duration_since(self.start).as_micros() as u64;
                    self.now_us = self.now_us.max(next_us);
                }
                self.take(usize::MAX);
                self.check_exact();
            }
        }
        self.check();
    }

    fn take(&mut self, at_most: usize) {
        let now_tick = self.now_us / TICK_US;
        for _ in 0..at_most {
            let due = self
                .model
                .first_key_value()
                .filter(|((tick, _), _)| *tick <= now_tick);
            let due = due.map(|(&at, &key)| (at, key));
            let fired = self.wheel.poll_expired(self.now());
            assert_eq!(fired, due.map(|((_, number), _)| number));
            let Some((at, key)) = due else {
                self.seen_tick = self.seen_tick.max(now_tick);
                return;
            };
            self.seen_tick = self.seen_tick.max(at.0);
            self.model.remove(&at);
            self.dead.push(key);
        }
    }

    fn next_tick(&self) -> Option<Instant> {
        let ((tick, _), _) = self.model.first_key_value()?;
        Some(self.start + Duration::from_micros(*tick * TICK_US))
    }

    fn check(&mut self) {
        assert_eq!(self.wheel.len(), self.model.len());
        let (next, exact) = (self.wheel.next_deadline(), self.next_tick());
        assert_eq!(next.is_some(), exact.is_some());
        assert!(next <= exact, "{next:?} is after {exact:?}");
        if let Some(key) = self.dead.pop() {
            assert!(!self.wheel.cancel(key));
        }
    }

    /// Looks at what the wheel names until something is due; few looks must do.
    fn check_exact(&mut self) {
        for _ in 0..8 {
            let Some(next) = self.wheel.next_deadline() else {
                return;
            };
            if Some(next) == self.next_tick() {
                return;
            }
            self.now_us = next.duration_since(self.start).as_micros() as u64;
            self.take(usize::MAX);
        }
        panic!("the next deadline does not settle");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_wheel_does_what_a_sorted_map_does(ops in vec(op(), 1..120)) {
        let mut pair = Pair::new();
        for op in &ops {
            pair.apply(op);
        }
        // A jump over everything fires all that is left, in order.
        pair.apply(&Op::Advance { by_us: 200 * 365 * DAY_MS * 1_000 });
        prop_assert!(pair.wheel.is_empty());
    }
}
