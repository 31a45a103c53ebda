//! A set of CPU numbers.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
    str::FromStr,
};

/// A set of CPU numbers, in the kernel's list notation (`0-3,8`) when shown or parsed.
#[derive(Clone, Debug, Default, Eq, PartialEq, Hash)]
pub struct CpuSet {
    cpus: BTreeSet<usize>,
}

impl CpuSet {
    /// Largest CPU number that is accepted; it bounds what a range in a text may expand to.
    pub const CPU_MAX: usize = 65_535;

    /// Number of CPUs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Whether the CPU is in the set.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        self.cpus.contains(&cpu)
    }

    /// The CPUs in rising order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.cpus.iter().copied()
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        Self {
            cpus: cpus.into_iter().collect(),
        }
    }
}

/// The text is not a list of CPUs.
#[derive(Copy, Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "a CPU list is made of numbers and rising ranges up to {}, as in 0-3,8",
    CpuSet::CPU_MAX
)]
pub struct ParseCpuSetError;

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let mut cpus = BTreeSet::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(ParseCpuSetError);
            }
            cpus.extend(first..=last);
        }
        Ok(Self { cpus })
    }
}

fn number(text: &str) -> Result<usize, ParseCpuSetError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = text
        .parse()
        .ok()
        .filter(|&cpu| digits && cpu <= CpuSet::CPU_MAX);
    value.ok_or(ParseCpuSetError)
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|&next| next == last + 1) {
                last = next;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                // Two neighbours read better as "0,1" in other tools, but the kernel writes "0-1".
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        if separator.is_empty() {
            f.write_char('-')?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        let check = |text: &str, cpus: &[usize], shown: &str| {
            let set: CpuSet = text.parse().expect(text);
            assert_eq!(set.iter().collect::<Vec<_>>(), cpus, "{text}");
            assert_eq!(set.to_string(), shown, "{text}");
        };
        check("0", &[0], "0");
        check("0-1\n", &[0, 1], "0-1");
        check("3,1,2,9", &[1, 2, 3, 9], "1-3,9");
        check("0-2,2-4,8", &[0, 1, 2, 3, 4, 8], "0-4,8");
        check("", &[], "-");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "a",
            "1-",
            "-1",
            "3-1",
            "0,,1",
            "+1",
            "0-99999999999",
            "70000",
            "1;2",
            ",",
        ] {
            assert_eq!(text.parse::<CpuSet>(), Err(ParseCpuSetError), "{text}");
        }
    }
}
