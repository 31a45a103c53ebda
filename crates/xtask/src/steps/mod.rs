//! The steps of the gate, a file per tool.

mod counts;
mod demo;
mod deny;
mod fuzz;
mod loom;
mod miri;
mod rust;

use crate::context::Context;
use crate::gate::{Outcome, Step};
use crate::tidy;

pub(crate) const FMT: Step = Step {
    name: "fmt",
    quick: true,
    run: rust::fmt,
};
pub(crate) const LINT: Step = Step {
    name: "lint",
    quick: true,
    run: rust::lint,
};
pub(crate) const UNIT: Step = Step {
    name: "unit",
    quick: true,
    run: rust::unit,
};
pub(crate) const DOCTEST: Step = Step {
    name: "doctest",
    quick: false,
    run: rust::doctest,
};
pub(crate) const DOC: Step = Step {
    name: "doc",
    quick: false,
    run: rust::doc,
};
pub(crate) const TIDY: Step = Step {
    name: "tidy",
    quick: true,
    run: tidy_step,
};
pub(crate) const DENY: Step = Step {
    name: "deny",
    quick: false,
    run: deny::deny,
};
pub(crate) const ADVISORIES: Step = Step {
    name: "advisories",
    quick: false,
    run: deny::advisories,
};
pub(crate) const LOOM: Step = Step {
    name: "loom",
    quick: false,
    run: loom::loom,
};
pub(crate) const FUZZ: Step = Step {
    name: "fuzz",
    quick: false,
    run: fuzz::fuzz,
};
pub(crate) const DEMO: Step = Step {
    name: "demo",
    quick: false,
    run: demo::demo,
};
pub(crate) const COUNTS: Step = Step {
    name: "counts",
    quick: false,
    run: counts::counts,
};
pub(crate) const MIRI: Step = Step {
    name: "miri",
    quick: false,
    run: miri::miri,
};

/// The whole gate, cheap and telling steps first.
pub(crate) const ALL: [Step; 13] = [
    FMT, LINT, UNIT, DOCTEST, DOC, TIDY, DENY, ADVISORIES, LOOM, FUZZ, DEMO, COUNTS, MIRI,
];

fn tidy_step(context: &Context) -> anyhow::Result<Outcome> {
    tidy::run(&context.root)?;
    Ok(Outcome::Passed)
}
