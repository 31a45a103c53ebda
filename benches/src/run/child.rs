//! One process of a repetition: bounded in time, and gone when its handle is.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// Lines of what a process said last that go into a report.
const LAST_LINES: usize = 3;
/// How long an asked process gets to leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
/// Between looks at a process that is about to end.
const POLL: Duration = Duration::from_millis(2);

/// A running process. Dropping it kills it.
pub(super) struct Process {
    name: String,
    child: Child,
    /// Open as long as the process is to run: its end is the order to leave.
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Arc<Mutex<VecDeque<String>>>,
    listener: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts a program.
    pub(super) fn start(name: &str, program: &Path, arguments: &[String]) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stdin = child.stdin.take();
        let lines = match child.stdout.take() {
            Some(stdout) => read_lines(stdout),
            None => channel().1,
        };
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let listener = child.stderr.take().map(|stderr| {
            let said = Arc::clone(&said);
            std::thread::spawn(move || listen(stderr, &said))
        });
        Ok(Self {
            name: name.to_owned(),
            child,
            stdin,
            lines,
            said,
            listener,
        })
    }

    /// Its process id.
    #[cfg(test)]
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives it its whole input.
    pub(super) fn tell(&mut self, text: &str) -> anyhow::Result<()> {
        if let Some(mut stdin) = self.stdin.take() {
            let written = stdin.write_all(text.as_bytes());
            if written.is_err() {
                bail!("{} did not take its input{}", self.name, self.last_words());
            }
        }
        Ok(())
    }

    /// Its next line of output.
    ///
    /// # Errors
    ///
    /// If it ends without one, or says nothing for too long.
    pub(super) fn line(&mut self, within: Duration) -> anyhow::Result<String> {
        match self.lines.recv_timeout(within) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                let seconds = within.as_secs_f64();
                bail!(
                    "{} said nothing for {seconds:.1} s{}",
                    self.name,
                    self.last_words()
                )
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.wait(LEAVE_WITHIN);
                let status = status.map_or_else(|| "no status".to_owned(), |s| s.to_string());
                bail!("{} ended ({status}){}", self.name, self.last_words())
            }
        }
    }

    /// Asks it to leave, and sees to it that it does.
    pub(super) fn leave(&mut self) {
        self.stdin = None;
        if self.wait(LEAVE_WITHIN).is_none() {
            self.kill();
        }
    }

    fn wait(&mut self, within: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + within;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    if let Some(listener) = self.listener.take() {
                        // All that it said is read once its pipe is closed; a process of its own
                        // that keeps the pipe open is not waited for.
                        while !listener.is_finished() && Instant::now() < until {
                            std::thread::sleep(POLL);
                        }
                    }
                    return Some(status);
                }
                Ok(None) if Instant::now() < until => std::thread::sleep(POLL),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    fn kill(&mut self) {
        // It may have ended by itself, which is what is wanted.
        self.child.kill().ok();
        self.child.wait().ok();
    }

    fn last_words(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_empty() {
            return String::new();
        }
        let lines: Vec<&str> = said.iter().map(|line| line.trim()).collect();
        format!(": {}", lines.join(" | "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}

/// Its lines, read by a thread that ends with the pipe.
fn read_lines(stdout: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn listen(stderr: impl Read, said: &Mutex<VecDeque<String>>) {
    for line in BufReader::new(stderr).lines() {
        let Ok(line) = line else { return };
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() == LAST_LINES {
            said.pop_front();
        }
        said.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::Process;

    fn shell(script: &str) -> Process {
        let arguments = ["-c".to_owned(), script.to_owned()];
        Process::start("it", Path::new("/bin/sh"), &arguments).unwrap()
    }

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn lines_come_one_by_one_and_input_goes_in() {
        let mut process = shell("echo ready; read a; echo got $a");
        assert_eq!(process.line(SOON).unwrap(), "ready");
        process.tell("plan\n").unwrap();
        assert_eq!(process.line(SOON).unwrap(), "got plan");
        process.leave();
    }

    #[test]
    fn an_early_end_is_told_with_its_last_words() {
        let mut process = shell("echo one >&2; echo why >&2; exit 3");
        let error = process.line(SOON).unwrap_err().to_string();
        assert!(
            error.contains("exit status: 3") && error.contains("one | why"),
            "{error}"
        );
    }

    #[test]
    fn silence_is_ended() {
        let mut process = shell("sleep 600");
        let started = Instant::now();
        let error = process.line(Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("said nothing"), "{error}");
        assert!(started.elapsed() < SOON);
    }

    #[test]
    fn the_end_of_stdin_is_an_order_to_leave() {
        let mut process = shell("echo ready; cat > /dev/null");
        process.line(SOON).unwrap();
        let pid = process.pid();
        process.leave();
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let process = shell("sleep 600");
        let pid = process.pid();
        drop(process);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
