use std::time::{Duration, Instant};

use super::{SLICE, Spinner};
use crate::config::IdlePolicy;

fn after_gaps(policy: IdlePolicy, gap_us: u64, count: u32) -> Spinner {
    let mut spinner = Spinner::new(policy);
    let start = Instant::now();
    for step in 0..=count {
        spinner.on_events(start + Duration::from_micros(gap_us) * step);
    }
    spinner
}

#[test]
fn adaptive_spins_only_while_events_are_dense() {
    let us = Duration::from_micros;
    for (spin_us, gap_us, count, expect) in [
        (50, 10, 100, Some(us(50))),
        (50, 100, 100, None),
        (50, 10, 1, None),
        (0, 0, 100, None),
    ] {
        let spinner = after_gaps(IdlePolicy::Adaptive { spin_us }, gap_us, count);
        assert_eq!(
            spinner.spin_time(),
            expect,
            "spin {spin_us} gap {gap_us} x{count}"
        );
        assert!(spinner.may_park());
    }
}

#[test]
fn a_long_gap_stops_the_spinning_and_dense_events_start_it_again() {
    let mut spinner = after_gaps(IdlePolicy::Adaptive { spin_us: 50 }, 10, 100);
    let mut now = Instant::now() + Duration::from_secs(3600);
    spinner.on_events(now);
    assert_eq!(spinner.spin_time(), None);
    for _ in 0..60 {
        now += Duration::from_micros(5);
        spinner.on_events(now);
    }
    assert!(spinner.spin_time().is_some());
}

#[test]
fn fixed_policies_do_not_look_at_gaps() {
    assert_eq!(after_gaps(IdlePolicy::Park, 1, 100).spin_time(), None);
    let spinner = after_gaps(IdlePolicy::Spin, 1_000_000, 3);
    assert_eq!(
        (spinner.spin_time(), spinner.may_park()),
        (Some(SLICE), false)
    );
}
