//! The machine that figures are from.

use std::fs;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// What a reader needs to judge figures.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    /// CPUs that this program may use.
    pub(crate) cpus: usize,
    pub(crate) kernel: String,
    pub(crate) memory_mib: u64,
    /// Of the first CPU; absent where the kernel shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) governor: Option<String>,
    /// Whether a hypervisor is below the kernel.
    pub(crate) virtualised: bool,
    /// When the run began, UTC.
    pub(crate) date: String,
}

impl Machine {
    /// This machine, now.
    pub(crate) fn read() -> Self {
        let cpuinfo = text("/proc/cpuinfo");
        let meminfo = text("/proc/meminfo");
        let kib = meminfo
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"));
        let kib = kib.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        let governor = text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        let governor = governor.trim();
        Self {
            cpu: field(&cpuinfo, "model name")
                .unwrap_or("unknown")
                .to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            memory_mib: kib.unwrap_or(0) / 1024,
            governor: (!governor.is_empty()).then(|| governor.to_owned()),
            virtualised: field(&cpuinfo, "flags").is_some_and(is_virtualised),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        }
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        let governor = self.governor.as_ref();
        let governor = governor.map_or_else(String::new, |name| format!(", governor {name}"));
        let virtualised = if self.virtualised {
            ", virtual machine"
        } else {
            ""
        };
        format!(
            "{}, {} CPUs, {} GiB, Linux {}{virtualised}{governor}",
            self.cpu,
            self.cpus,
            self.memory_mib.div_ceil(1024),
            self.kernel,
        )
    }
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(key, _)| key.trim() == name)?;
    Some(value.trim())
}

fn is_virtualised(flags: &str) -> bool {
    flags.split_whitespace().any(|flag| flag == "hypervisor")
}

#[cfg(test)]
mod tests {
    use super::{Machine, field, is_virtualised};

    #[test]
    fn fields_are_found_by_name() {
        let text = "model\t: 85\nmodel name\t: Some CPU @ 2 GHz\nflags\t: fpu hypervisor sse\n";
        assert_eq!(field(text, "model name"), Some("Some CPU @ 2 GHz"));
        assert!(is_virtualised(field(text, "flags").unwrap()));
        assert!(!is_virtualised("fpu sse"));
        assert_eq!(field(text, "none"), None);
    }

    #[test]
    fn this_machine_can_be_read() {
        let machine = Machine::read();
        assert!(machine.cpus > 0 && machine.memory_mib > 0);
        assert!(machine.date.ends_with('Z'), "{}", machine.date);
        assert!(machine.line().contains("Linux"));
    }
}
