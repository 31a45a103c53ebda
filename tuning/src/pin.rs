//! Pinning.

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::Error;

/// Pins the calling thread to one CPU. One syscall; each shard calls it once, at its start.
///
/// # Errors
/// [`Error::Pin`] when the CPU is offline or outside the cpuset, [`Error::CpuBeyondLimit`] when the
/// kernel interface cannot name it. The thread then runs where it ran before, which is safe: only
/// slower.
pub fn pin_current_thread(cpu: usize) -> Result<(), Error> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(Error::CpuBeyondLimit {
            cpu,
            max: CpuSet::MAX_CPU - 1,
        });
    }
    let mut mask = CpuSet::new();
    mask.set(cpu);
    sched_setaffinity(None, &mask).map_err(|errno| Error::Pin {
        cpu,
        source: errno.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::Allowed;

    #[test]
    fn a_pinned_thread_is_allowed_one_cpu() {
        let cpu = Allowed::read()
            .expect("affinity")
            .cpus
            .iter()
            .last()
            .expect("some CPU");
        let after = thread::spawn(move || {
            pin_current_thread(cpu).expect("an allowed CPU");
            Allowed::read().expect("affinity").cpus
        });
        assert_eq!(
            after.join().expect("no panic").iter().collect::<Vec<_>>(),
            [cpu]
        );
    }

    #[test]
    fn impossible_cpus_are_named() {
        let beyond = pin_current_thread(CpuSet::MAX_CPU).expect_err("beyond the mask");
        assert!(
            matches!(
                beyond,
                Error::CpuBeyondLimit {
                    cpu: 1024,
                    max: 1023
                }
            ),
            "{beyond}"
        );
        let absent = pin_current_thread(1023).expect_err("no such CPU here");
        assert!(matches!(absent, Error::Pin { cpu: 1023, .. }), "{absent}");
    }
}
