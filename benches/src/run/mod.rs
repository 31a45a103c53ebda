//! Running rows: repetitions interleaved across systems, each with fresh processes.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use ringmain_bench_harness::Rep;

mod check;
mod child;
mod derive;
mod progress;
mod rep;

pub(crate) use self::progress::Progress;
pub(crate) use self::rep::Cpus;
use crate::catalog::Programs;
use crate::results::Row;
use crate::workload::Spec;

/// Highest latency that a merged distribution holds.
const HIGHEST_NS: u64 = 120_000_000_000;
/// What starting and ending the processes of one repetition takes, for the estimate.
const AROUND_MS: u64 = 400;

/// A row and the distribution of its key latency over all repetitions.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) row: Row,
    /// Nanoseconds.
    pub(crate) latency: Option<Histogram<u64>>,
}

/// Runs rows.
pub(crate) struct Runner {
    pub(crate) programs: Programs,
    pub(crate) cpus: Cpus,
    pub(crate) reps: u32,
}

impl Runner {
    /// Milliseconds that the rows will take, about.
    pub(crate) fn estimate_ms(&self, specs: &[Spec]) -> u64 {
        let reps = u64::from(self.reps);
        let of = |spec: &Spec| one_ms(spec) * (reps + u64::from(spec.traced));
        specs.iter().map(of).sum()
    }

    /// Runs the rows of one workload: A B C A B C, then the counted repetitions.
    pub(crate) fn run(&self, specs: &[Spec], progress: &Progress) -> Vec<Outcome> {
        let mut outcomes: Vec<Outcome> = specs.iter().map(Outcome::new).collect();
        for number in 1..=self.reps {
            for (spec, outcome) in specs.iter().zip(&mut outcomes) {
                progress.start(spec, &format!("repetition {number} of {}", self.reps));
                match rep::repetition(spec, &self.programs, &self.cpus, false) {
                    Ok(rep) => outcome.add(spec, number, rep),
                    Err(error) => outcome.fail(number, &format!("{error:#}")),
                }
                progress.done(one_ms(spec));
            }
        }
        for (spec, outcome) in specs.iter().zip(&mut outcomes) {
            // A row that failed is not asked to fail once more.
            if spec.traced && !outcome.row.reps.is_empty() {
                progress.start(spec, "counting syscalls and allocations");
                match rep::repetition(spec, &self.programs, &self.cpus, true) {
                    Ok(rep) => outcome.row.traced = Some(derive::with_derived(spec, rep.figures)),
                    Err(error) => {
                        let text = format!("counted repetition: {error:#}");
                        outcome.row.failures.push(text);
                    }
                }
            }
            if spec.traced {
                progress.done(one_ms(spec));
            }
        }
        outcomes
    }
}

/// Milliseconds that one repetition takes, about.
fn one_ms(spec: &Spec) -> u64 {
    let plan = &spec.plan;
    let own = match plan.load {
        ringmain_bench_harness::Load::Cancel => plan.streams as u64 * 9,
        _ => plan.warm_up_ms + plan.window_ms,
    };
    own + AROUND_MS
}

impl Outcome {
    fn new(spec: &Spec) -> Self {
        Self {
            row: Row {
                workload: spec.workload.name().to_owned(),
                system: spec.system.name.to_owned(),
                params: spec.params.clone(),
                work_clean: true,
                ..Row::default()
            },
            latency: None,
        }
    }

    fn add(&mut self, spec: &Spec, number: u32, rep: Rep) {
        if spec.pick.is_none()
            && let Err(reason) = check::check(&spec.plan, &rep.figures)
        {
            self.fail(number, &reason);
        }
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for failure in &rep.failures {
            *reasons.entry(failure).or_default() += 1;
        }
        for (reason, times) in reasons {
            match times {
                1 => self.fail(number, reason),
                _ => self.fail(number, &format!("{reason} ({times} times)")),
            }
        }
        self.merge(&rep.histograms);
        self.row.reps.push(derive::with_derived(spec, rep.figures));
    }

    fn fail(&mut self, number: u32, reason: &str) {
        self.row.work_clean = false;
        self.row
            .failures
            .push(format!("repetition {number}: {reason}"));
    }

    /// Adds the buckets of one repetition: of the first token where that is the key figure.
    fn merge(&mut self, histograms: &BTreeMap<String, Vec<(u64, u64)>>) {
        let key = crate::output::columns::key_histogram(&self.row.workload);
        let Some(buckets) = histograms.get(key) else {
            return;
        };
        if self.latency.is_none() {
            self.latency = Histogram::new_with_bounds(1, HIGHEST_NS, 3).ok();
        }
        if let Some(latency) = &mut self.latency {
            for &(ns, count) in buckets {
                // Buckets of the same bounds fit.
                latency.saturating_record_n(ns.max(1), count);
            }
        }
    }
}
