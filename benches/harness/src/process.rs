//! What the kernel knows of a process.

use std::collections::HashSet;
use std::fs;

/// Meters of a process at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    /// Time its threads ran, in nanoseconds.
    pub(crate) cpu_ns: u64,
    /// Times its threads gave the core up or lost it.
    pub(crate) switches: u64,
}

impl Meter {
    /// Reads the meters; a process that is gone reads as zero.
    #[must_use]
    pub(crate) fn read(pid: u32) -> Self {
        let mut meter = Self::default();
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return meter;
        };
        for task in tasks.flatten() {
            let path = task.path();
            let schedstat = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            meter.cpu_ns += number(schedstat.split_whitespace().next());
            let status = fs::read_to_string(path.join("status")).unwrap_or_default();
            for line in status.lines() {
                if line.contains("ctxt_switches") {
                    meter.switches += number(line.split_whitespace().nth(1));
                }
            }
        }
        meter
    }

    /// What was used since `earlier`.
    #[must_use]
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}

/// Resident memory in KiB; zero if the process is gone.
#[must_use]
pub(crate) fn rss_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    number(line.and_then(|line| line.split_whitespace().nth(1)))
}

/// Established connections of a process: TCP, and UDP or Unix sockets that have a peer.
#[must_use]
pub(crate) fn connections(pid: u32) -> u64 {
    let mut own = HashSet::new();
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return 0;
    };
    for descriptor in descriptors.flatten() {
        let Ok(target) = fs::read_link(descriptor.path()) else {
            continue;
        };
        let target = target.to_string_lossy();
        if let Some(inode) = target.strip_prefix("socket:[") {
            own.insert(inode.trim_end_matches(']').to_owned());
        }
    }
    let mut count = 0;
    for (table, state, inode) in [("tcp", 3, 9), ("tcp6", 3, 9), ("udp", 3, 9), ("udp6", 3, 9)] {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let established = fields.get(state) == Some(&"01");
            let ours = fields.get(inode).is_some_and(|inode| own.contains(*inode));
            count += u64::from(established && ours);
        }
    }
    count
}

fn number(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Meter, connections, rss_kib};

    #[test]
    fn a_process_can_read_its_own_meters() {
        let pid = std::process::id();
        let before = Meter::read(pid);
        let mut spent = 0_u64;
        while Meter::read(pid).since(before).cpu_ns == 0 && spent < 100_000_000 {
            spent += 1;
        }
        assert!(Meter::read(pid).cpu_ns > 0);
        assert!(rss_kib(pid) > 0);
    }

    #[test]
    fn a_connection_is_counted_once_per_end() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let before = connections(std::process::id());
        let dialed = std::net::TcpStream::connect(address).unwrap();
        let accepted = listener.accept().unwrap();
        assert!(connections(std::process::id()) >= before + 2);
        drop((dialed, accepted));
    }

    #[test]
    fn a_process_that_is_gone_reads_as_zero() {
        assert_eq!(Meter::read(u32::MAX).cpu_ns, 0);
        assert_eq!(rss_kib(u32::MAX), 0);
        assert_eq!(connections(u32::MAX), 0);
    }
}
