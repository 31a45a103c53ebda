//! A directory for a registry, workers that register there, and callers that look there.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Ended, Proc};

/// What every worker here serves.
pub(crate) const ENDPOINT: &str = "test.worker.generate";
/// An answer that no test waits for to end by itself.
pub(crate) const ENDLESS: &str = "--tokens=1000000";

/// A registry of one test's own, and where it keeps its other files.
pub(crate) struct Site {
    dir: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The file registry.
    pub(crate) fn registry(&self) -> String {
        format!("file:{}", self.path().join("registry").display())
    }

    /// A static list with one entry; the registry's name.
    pub(crate) fn list(&self, endpoint: &str, address: &str) -> String {
        let file = self.path().join("list.json");
        let list = serde_json::json!([{ "endpoint": endpoint, "addresses": [address] }]);
        std::fs::write(&file, list.to_string()).unwrap();
        format!("static:{}", file.display())
    }

    /// A worker on a free loopback port.
    pub(crate) fn worker(&self, args: &[&str]) -> Worker {
        self.worker_at("127.0.0.1:0", args)
    }

    pub(crate) fn worker_at(&self, listen: &str, args: &[&str]) -> Worker {
        Worker::start(&self.registry(), listen, args)
    }

    /// A call that runs while the test goes on.
    pub(crate) fn start_call(&self, args: &[&str]) -> Proc {
        start_call(&self.registry(), args)
    }

    /// A call and its end.
    pub(crate) fn call(&self, args: &[&str]) -> Ended {
        self.start_call(args).end()
    }
}

/// Calls the workers' endpoint.
pub(crate) fn start_call(registry: &str, args: &[&str]) -> Proc {
    Proc::start(
        ["call", ENDPOINT, "--registry", registry]
            .iter()
            .chain(args),
    )
}

/// A call that streams tokens: returns once the first is there.
pub(crate) fn streaming(call: Proc) -> Proc {
    call.wait_out("a token", |out| out.contains("token0"));
    call
}

/// A process that serves.
pub(crate) struct Worker {
    pub(crate) process: Proc,
    /// What it announced.
    pub(crate) serving: Value,
}

impl Worker {
    /// Starts one and waits until it is registered.
    pub(crate) fn start(registry: &str, listen: &str, args: &[&str]) -> Self {
        let fixed = [
            "serve",
            "--json",
            "--endpoint",
            ENDPOINT,
            "--listen",
            listen,
        ];
        let quick = [("--ttft", "--ttft=5ms"), ("--itl", "--itl=5ms")];
        let quick = quick
            .iter()
            .filter(|(flag, _)| !args.iter().any(|arg| arg.starts_with(flag)));
        let args = quick.map(|(_, arg)| arg).chain(args);
        let process = Proc::start(fixed.iter().chain(&["--registry", registry]).chain(args));
        let said = process.wait_out("what it serves", |out| out.contains('\n'));
        Self {
            process,
            serving: serde_json::from_str(said.lines().next().unwrap()).unwrap(),
        }
    }

    pub(crate) fn address(&self) -> &str {
        self.serving["addresses"][0].as_str().unwrap()
    }

    pub(crate) fn instance(&self) -> &str {
        self.serving["instance"].as_str().unwrap()
    }

    /// Asks it to drain; returns once it has begun to.
    pub(crate) fn start_drain(&self) {
        self.process.signal(rustix::process::Signal::TERM);
        self.process.wait_err("draining");
    }

    /// Waits for its end; how it ended and its last event.
    pub(crate) fn end(self) -> (Ended, Value) {
        let ended = self.process.end();
        let stopped = ended
            .out
            .lines()
            .nth(1)
            .map(|line| serde_json::from_str(line).unwrap());
        (ended, stopped.unwrap_or(Value::Null))
    }
}

/// The words that the mock engine makes for so many tokens.
pub(crate) fn made(tokens: u32) -> String {
    (0..tokens)
        .map(|number| format!(" token{number}"))
        .collect()
}

/// The liveness bound: a second is promised, and a busy machine gets five.
pub(crate) const LIVENESS: Duration = Duration::from_secs(5);
