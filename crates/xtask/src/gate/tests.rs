use anyhow::bail;

use super::*;
use crate::context::Options;

const PASSES: Step = Step {
    name: "passes",
    quick: true,
    run: |_| Ok(Outcome::Passed),
};
const FAILS: Step = Step {
    name: "fails",
    quick: true,
    run: |_| bail!("two is not three"),
};
const SKIPS: Step = Step {
    name: "skips",
    quick: true,
    run: |_| Ok(Outcome::Skipped("no tool".into())),
};

fn check(steps: &[Step], expect: Tally) -> String {
    let context = Context::discover(Options::default()).unwrap();
    let mut out = Vec::new();
    assert_eq!(run(steps, &context, &mut out).unwrap(), expect);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_last_line_counts_every_step() {
    let shown = check(
        &[PASSES, SKIPS, PASSES],
        Tally {
            passed: 2,
            failed: 0,
            skipped: 1,
        },
    );
    assert_eq!(shown.lines().last(), Some("2 passed, 0 failed, 1 skipped"));
    assert!(shown.contains("==== 2/3 skips"), "{shown}");
    assert!(shown.contains("SKIPPED  skips: no tool"), "{shown}");
}

#[test]
fn a_failure_stops_the_gate_and_the_rest_counts_as_skipped() {
    let shown = check(
        &[PASSES, FAILS, PASSES, SKIPS],
        Tally {
            passed: 1,
            failed: 1,
            skipped: 2,
        },
    );
    assert!(shown.contains("two is not three"), "{shown}");
    assert!(!shown.contains("3/4"), "{shown}");
    assert!(shown.contains("skipped  passes: not reached"), "{shown}");
    assert_eq!(shown.lines().last(), Some("1 passed, 1 failed, 2 skipped"));
}
