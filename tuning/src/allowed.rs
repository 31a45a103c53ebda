//! What this process may use.

use std::{fs, io};

use rustix::{io::Errno, thread};

use crate::{CpuQuota, CpuSet, Error};

/// CPUs and CPU time that this process may use.
///
/// Plain data: build one by hand to plan for another machine, or compare two reads to see that the
/// cpuset or the quota was changed while the process runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Allowed {
    /// The affinity mask, which the kernel keeps inside the cpuset.
    pub cpus: CpuSet,
    /// The tightest quota of the control group and its parents.
    pub quota: Option<CpuQuota>,
}

impl Allowed {
    /// Reads the calling thread's affinity and the control group's quota. Call it before any thread
    /// is pinned. A quota that cannot be read counts as none.
    ///
    /// # Errors
    /// [`Error::Affinity`] when the mask cannot be read.
    pub fn read() -> Result<Self, Error> {
        let cpus = match thread::sched_getaffinity(None) {
            Ok(mask) => (0..thread::CpuSet::MAX_CPU)
                .filter(|&cpu| mask.is_set(cpu))
                .collect(),
            // A kernel built for more CPUs than the mask has room for.
            Err(Errno::INVAL) => listed().map_err(Error::Affinity)?,
            Err(errno) => return Err(Error::Affinity(errno.into())),
        };
        Ok(Self {
            cpus,
            quota: CpuQuota::read(),
        })
    }
}

/// The affinity mask as text, which has no upper limit.
fn listed() -> io::Result<CpuSet> {
    let status = fs::read_to_string("/proc/thread-self/status")?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let parsed = list.and_then(|list| list.parse().ok());
    parsed.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no list of allowed CPUs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_agree_on_this_machine() {
        let allowed = Allowed::read().expect("affinity");
        assert!(!allowed.cpus.is_empty());
        assert_eq!(allowed.cpus, listed().expect("list"));
    }
}
