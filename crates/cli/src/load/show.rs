//! What a person sees while a load runs.

use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Streams whose text is shown.
const LINES: usize = 6;
/// Characters of a stream's tail that fit on its line.
const TAIL_CHARS: usize = 80;

/// Told about tokens and ends as they happen, from any task.
pub(crate) trait Show: Send + Sync {
    /// A token of one stream.
    fn token(&self, stream: usize, token: &[u8]);
    /// A stream ended.
    fn ended(&self);
    /// The load is over.
    fn finish(&self);
}

/// Shows nothing.
pub(crate) struct Quiet;

impl Show for Quiet {
    fn token(&self, _stream: usize, _token: &[u8]) {}
    fn ended(&self) {}
    fn finish(&self) {}
}

/// The tail of a few streams and a bar for all of them, on a terminal.
pub(crate) struct Terminal {
    lines: Vec<(ProgressBar, Mutex<String>)>,
    bar: ProgressBar,
}

impl Terminal {
    /// `streams` is how many will run; `with_text` shows the text of the first few.
    pub(crate) fn new(streams: u64, with_text: bool) -> Self {
        let all = MultiProgress::new();
        let text = ProgressStyle::with_template("{prefix:>8} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let lines = (0..if with_text { LINES } else { 0 })
            .map(|index| {
                let line = all.add(ProgressBar::new_spinner());
                line.set_style(text.clone());
                line.set_prefix(format!("#{}", index + 1));
                (line, Mutex::default())
            })
            .collect();
        let template = "{bar:40} {pos}/{len} streams, {elapsed} {msg}";
        let bar = all.add(ProgressBar::new(streams));
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { lines, bar }
    }
}

impl Show for Terminal {
    fn token(&self, stream: usize, token: &[u8]) {
        let Some((line, text)) = self.lines.get(stream) else {
            return;
        };
        let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
        for c in String::from_utf8_lossy(token).chars() {
            text.push(if c.is_control() { ' ' } else { c });
        }
        let cut = text.chars().count().saturating_sub(TAIL_CHARS);
        if cut > 0 {
            *text = text.chars().skip(cut).collect();
        }
        line.set_message(text.clone());
    }

    fn ended(&self) {
        self.bar.inc(1);
    }

    fn finish(&self) {
        for (line, _) in &self.lines {
            line.abandon();
        }
        self.bar.finish();
    }
}
