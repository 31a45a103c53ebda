//! The CPU quota of the control group (version 2) that the process lives in. Read only.

use std::{
    fmt, fs,
    num::{NonZeroU64, NonZeroUsize},
    path::{Component, Path, PathBuf},
};

/// CPU time per period that a control group may use: `cpu.max`.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct CpuQuota {
    quota_us: u64,
    period_us: NonZeroU64,
}

impl CpuQuota {
    /// A quota of `quota_us` microseconds of CPU time in each `period_us`.
    #[must_use]
    pub const fn new(quota_us: u64, period_us: NonZeroU64) -> Self {
        Self {
            quota_us,
            period_us,
        }
    }

    /// Whole CPUs that the quota pays for: rounded down, at least one. Rounding up would let the
    /// threads spend the quota before the period ends, and all of them would then stand still
    /// together.
    #[must_use]
    pub fn whole_cpus(self) -> NonZeroUsize {
        let whole = usize::try_from(self.quota_us / self.period_us).unwrap_or(usize::MAX);
        NonZeroUsize::new(whole).unwrap_or(NonZeroUsize::MIN)
    }

    /// The tightest quota of the process's control group and its parents; `None` when none is set
    /// or none can be read (no version 2 hierarchy, no `/proc`).
    #[must_use]
    pub fn read() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let group = group_path(&own, &mounts)?;
        tightest(&group, |path| fs::read_to_string(path).ok())
    }

    /// Parses the content of `cpu.max`; `None` for "max" and for anything else that is not a quota.
    fn parse(text: &str) -> Option<Self> {
        let (quota, period) = text.trim().split_once(' ')?;
        Some(Self {
            quota_us: quota.parse().ok()?,
            period_us: period.parse().ok()?,
        })
    }

    /// Compares exactly: quota / period, without rounding.
    fn is_tighter_than(self, other: Self) -> bool {
        let own = u128::from(self.quota_us) * u128::from(other.period_us.get());
        own < u128::from(other.quota_us) * u128::from(self.period_us.get())
    }
}

impl fmt::Display for CpuQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = u128::from(self.quota_us) * 100 / u128::from(self.period_us.get());
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

/// A control group's directory and where its hierarchy is mounted.
#[derive(Debug, Eq, PartialEq)]
struct GroupPath {
    mount: PathBuf,
    relative: PathBuf,
}

/// Finds the version 2 group in `/proc/self/cgroup` ("0::/path") and its place under the mount of
/// that hierarchy.
fn group_path(own: &str, mounts: &str) -> Option<GroupPath> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let (root, mount) = mounts.lines().find_map(cgroup2_mount)?;
    // Without a group namespace the mount shows only a part of the tree: its root, and the rest is
    // relative to it.
    let relative = Path::new(path)
        .strip_prefix(root)
        .unwrap_or_else(|_| Path::new(""));
    let relative = relative.strip_prefix("/").unwrap_or(relative);
    // A group outside the namespace is shown as "/../other"; nothing of it can be read from here.
    let inside = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let relative = if inside {
        relative.to_path_buf()
    } else {
        PathBuf::new()
    };
    Some(GroupPath {
        mount: mount.into(),
        relative,
    })
}

/// Root and mount point of a line of `mountinfo`, if it is a version 2 hierarchy.
fn cgroup2_mount(line: &str) -> Option<(&str, &str)> {
    let (mount, kind) = line.split_once(" - ")?;
    if kind.split(' ').next() != Some("cgroup2") {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    Some((fields.next()?, fields.next()?))
}

/// Limits add up along the path: the group itself or any parent may be the tight one.
fn tightest(group: &GroupPath, read: impl Fn(&Path) -> Option<String>) -> Option<CpuQuota> {
    let mut found: Option<CpuQuota> = None;
    for relative in group.relative.ancestors() {
        let file = group.mount.join(relative).join("cpu.max");
        let quota = read(&file).and_then(|text| CpuQuota::parse(&text));
        if let Some(quota) =
            quota.filter(|quota| found.is_none_or(|found| quota.is_tighter_than(found)))
        {
            found = Some(quota);
        }
    }
    found
}

#[cfg(test)]
mod tests;
