//! The same seed gives the same run.

use crate::plan::{Plan, Weather};
use crate::run::run;

#[test]
fn a_seed_repeats_its_run_and_another_differs() {
    for weather in Weather::ALL {
        let first = run(&Plan::draw(1, weather));
        let second = run(&Plan::draw(1, weather));
        let other = run(&Plan::draw(2, weather));
        assert_eq!(
            first.trace, second.trace,
            "{weather:?}: seed 1 does not repeat itself"
        );
        assert_ne!(
            first.trace, other.trace,
            "{weather:?}: seeds 1 and 2 are the same"
        );
        let seen = |reports: &[ringmain_testkit::sim::Report]| {
            let each = |report: &ringmain_testkit::sim::Report| {
                (
                    report.fate.clone(),
                    report.received,
                    report.made,
                    report.ended,
                )
            };
            reports.iter().map(each).collect::<Vec<_>>()
        };
        assert_eq!(seen(&first.reports), seen(&second.reports), "{weather:?}");
    }
}
