//! Counting another process's system calls, with `perf` where it may be used.

use std::process::{Child, Command, Stdio};

/// A count that runs for a set time.
pub(crate) struct Tracer(Option<Child>);

impl Tracer {
    /// Starts to count the system calls of `pid` for `window_ms`.
    #[must_use]
    pub(crate) fn start(pid: u32, window_ms: u64) -> Self {
        let seconds = format!("{}.{:03}", window_ms / 1000, window_ms % 1000);
        let perf = Command::new("perf")
            .args(["stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p"])
            .arg(pid.to_string())
            .args(["--", "sleep", &seconds])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        Self(perf.ok())
    }

    /// Waits for the end of the count; `None` where `perf` is missing or not allowed.
    #[must_use]
    pub(crate) fn finish(self) -> Option<u64> {
        let output = self.0?.wait_with_output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().find(|line| line.contains("sys_enter"))?;
        line.split(',').next()?.parse().ok()
    }
}
