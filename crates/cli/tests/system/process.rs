//! A process of the command under a test's control.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long anything is waited for: a bound on hanging, not a timing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// How often a condition outside this process is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// The command, ready for arguments. It hears nothing of this process's environment that would
/// change what it says.
pub(crate) fn ringmain<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringmain"));
    command
        .args(args)
        .env_remove("RUST_LOG")
        .env_remove("RUST_BACKTRACE");
    command
}

/// What a process has said so far on one of its outputs.
#[derive(Clone, Default)]
struct Said(Arc<(Mutex<Text>, Condvar)>);

#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    ended: bool,
}

impl Said {
    fn collect(&self, mut from: impl Read + Send + 'static) -> JoinHandle<()> {
        let said = self.clone();
        std::thread::spawn(move || {
            let (text, news) = &*said.0;
            let mut chunk = [0; 4096];
            loop {
                let len = from.read(&mut chunk).unwrap_or(0);
                let mut text = text.lock().unwrap();
                text.bytes.extend_from_slice(&chunk[..len]);
                text.ended |= len == 0;
                news.notify_all();
                if len == 0 {
                    return;
                }
            }
        })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.0.lock().unwrap().bytes).into_owned()
    }

    fn wait(&self, what: &str, mut holds: impl FnMut(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let (text, news) = &*self.0;
        let mut text = text.lock().unwrap();
        loop {
            let now = String::from_utf8_lossy(&text.bytes).into_owned();
            if holds(&now) {
                return now;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!text.ended && !left.is_zero(), "{what}: not in {now:?}");
            text = news.wait_timeout(text, left).unwrap().0;
        }
    }
}

/// A running process; dropping it kills it and waits for its end.
pub(crate) struct Proc {
    child: Child,
    out: Said,
    err: Said,
    readers: Vec<JoinHandle<()>>,
}

/// How a process ended and all it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Proc {
    /// Starts the command with these arguments.
    pub(crate) fn start<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Self {
        Self::spawn(&mut ringmain(args))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let piped = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (out, err) = (Said::default(), Said::default());
        let readers = vec![
            out.collect(child.stdout.take().unwrap()),
            err.collect(child.stderr.take().unwrap()),
        ];
        Self {
            child,
            out,
            err,
            readers,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until what it printed satisfies `holds`.
    pub(crate) fn wait_out(&self, what: &str, holds: impl FnMut(&str) -> bool) -> String {
        self.out.wait(what, holds)
    }

    /// Waits until it says `text` to the person at the terminal.
    pub(crate) fn wait_err(&self, text: &str) -> String {
        self.err.wait(text, |said| said.contains(text))
    }

    /// What it has printed so far.
    pub(crate) fn out(&self) -> String {
        self.out.text()
    }

    /// Waits until the process handles `signal` itself.
    pub(crate) fn wait_catches(&self, signal: Signal) {
        let bit = 1_u64 << (signal.as_raw() - 1);
        let path = format!("/proc/{}/status", self.pid());
        eventually("a signal handler", || {
            let status = std::fs::read_to_string(&path).unwrap();
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigCgt:"))
                .unwrap();
            u64::from_str_radix(mask.trim(), 16).unwrap() & bit != 0
        });
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let mut status = None;
        eventually("the end of the process", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        Ended {
            status: status.unwrap(),
            out: self.out.text(),
            err: self.err.text(),
        }
    }
}

impl Drop for Proc {
    fn drop(&mut self) {
        // By its own handle, which names no other process even when this one has ended.
        let _has_ended = self.child.kill().is_err();
        let _has_ended = self.child.wait().is_err();
    }
}

impl Ended {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self:?}");
        self
    }

    /// Asserts that it talked of `text`.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "no {text:?} in {:?}", self.err);
        self
    }

    /// The one JSON object that it printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let mut lines = self.out.lines();
        let value = lines
            .next()
            .and_then(|line| serde_json::from_str(line).ok());
        let value: Value = value.unwrap_or_else(|| panic!("no JSON object: {self:?}"));
        assert!(
            value.is_object() && lines.next().is_none(),
            "one object: {self:?}"
        );
        value
    }
}

/// Waits until `holds`, looking again and again.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(
            Instant::now() < deadline,
            "{what}: still not so after {PATIENCE:?}"
        );
        std::thread::sleep(LOOK);
    }
}
