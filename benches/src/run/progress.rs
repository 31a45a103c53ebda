//! What a person sees while rows run.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::workload::Spec;

/// A bar on a terminal, a line for each workload elsewhere; on stderr.
pub(crate) struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
}

impl Progress {
    /// `estimate_ms` is what everything will take, about.
    pub(crate) fn new(estimate_ms: u64) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let bar = if on_terminal {
            ProgressBar::new(estimate_ms)
        } else {
            ProgressBar::hidden()
        };
        let template = "{bar:30} {percent:>3}%  {elapsed_precise}, {eta} left  {msg}";
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, on_terminal }
    }

    /// A workload begins.
    pub(crate) fn workload(&self, name: &str, rows: usize, estimate_ms: u64) {
        if !self.on_terminal {
            let seconds = estimate_ms.div_ceil(1000);
            self.say(&format!("{name}: {rows} rows, about {seconds} s"));
        }
    }

    /// A repetition begins.
    pub(crate) fn start(&self, spec: &Spec, what: &str) {
        let workload = spec.workload.name();
        let mut text = format!("{workload} {} {what}", spec.system.name);
        for name in ["kind", "idle", "home"] {
            if let Some(value) = spec.params.get(name).and_then(|value| value.as_str()) {
                text.push_str(&format!(" {name}={value}"));
            }
        }
        self.bar.set_message(text);
    }

    /// A repetition that was to take `ms` is over.
    pub(crate) fn done(&self, ms: u64) {
        self.bar.inc(ms);
    }

    /// Says something that stays on the screen.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| {
            // Nobody to talk to is no reason to stop working.
            drop(writeln!(std::io::stderr().lock(), "{text}"));
        });
    }

    /// Lets something else write to the terminal.
    pub(crate) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.bar.suspend(write)
    }

    /// Everything is over.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
