//! Cases that change or count what belongs to the whole process run in one of their own.

use std::cell::Cell;
use std::process::Command;

const CHILD: &str = "RINGMAIN_CONTRACT_CHILD";

thread_local! {
    static NAME: Cell<&'static str> = const { Cell::new("") };
}

/// Notes which test this thread runs, as `contract::driver::case`.
pub(crate) fn name(name: &'static str) {
    NAME.set(name);
}

/// Runs `case` in a process where no other test runs.
pub(crate) fn alone(case: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        case();
        return;
    }
    // Test names lack the crate's own name.
    let (_, name) = NAME.get().split_once("::").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "no such case: {text}");
}

/// How many descriptors this process has open.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
