use std::fmt;
use std::io::{self, Write};
use std::time::Instant;

use crate::context::Context;

#[cfg(test)]
mod tests;

/// How a step ended that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// Left out, with what is missing. Counted, so that nothing is left out unseen.
    Skipped(String),
}

/// One check of the gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Part of `test --quick`.
    pub(crate) quick: bool,
    pub(crate) run: fn(&Context) -> anyhow::Result<Outcome>,
}

/// How many steps ended how; displayed as the gate's last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Runs the steps in order up to the first failure; the steps after it count as skipped.
pub(crate) fn run(steps: &[Step], context: &Context, out: &mut dyn Write) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut lines = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let name = step.name;
        if tally.failed > 0 {
            tally.skipped += 1;
            lines.push(format!("skipped  {name}: not reached"));
            continue;
        }
        writeln!(out, "\n==== {}/{} {name}", index + 1, steps.len())?;
        out.flush()?;
        let start = Instant::now();
        let outcome = (step.run)(context);
        let took = format!("{:.1} s", start.elapsed().as_secs_f64());
        let line = match outcome {
            Ok(Outcome::Passed) => {
                tally.passed += 1;
                format!("passed   {name} ({took})")
            }
            Ok(Outcome::Skipped(reason)) => {
                tally.skipped += 1;
                format!("SKIPPED  {name}: {reason}")
            }
            Err(error) => {
                tally.failed += 1;
                format!("FAILED   {name} ({took}): {error:#}")
            }
        };
        writeln!(out, "---- {line}")?;
        lines.push(line);
    }
    if steps.len() > 1 {
        writeln!(out, "\n==== summary")?;
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    writeln!(out, "\n{tally}")?;
    out.flush()?;
    Ok(tally)
}
