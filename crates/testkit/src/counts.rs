//! What must be back at its baseline after a test.

use std::time::{Duration, Instant};

/// How long [`eventually`] looks before it gives up: a bound on hanging, not a timing.
const PATIENCE: Duration = Duration::from_secs(20);

/// Descriptors this process has open.
///
/// # Panics
///
/// When the process cannot list its own descriptors.
pub fn open_descriptors() -> usize {
    let Ok(list) = std::fs::read_dir("/proc/self/fd") else {
        panic!("a process may list its own descriptors")
    };
    list.count()
}

/// Waits until `holds`, looking again and again.
///
/// # Panics
///
/// When it does not hold within a generous time; `what` says what was waited for.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(
            Instant::now() < deadline,
            "{what}: still not so after {PATIENCE:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}
