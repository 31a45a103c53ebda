use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{BASELINE, Counts};

/// What counts depend on beside the code. Counts of two toolchains say nothing about each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Toolchain {
    pub(super) rustc: String,
    pub(super) target: String,
}

/// The checked-in counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Baseline {
    pub(super) toolchain: Toolchain,
    pub(super) instructions: BTreeMap<String, f64>,
}

impl Toolchain {
    /// From what `rustc -vV` says.
    pub(super) fn parse(version: &str) -> anyhow::Result<Self> {
        let field = |name: &str| {
            let value = version.lines().find_map(|line| line.strip_prefix(name));
            value
                .map(|value| value.trim().to_owned())
                .with_context(|| format!("`rustc -vV` has no line `{name}`"))
        };
        Ok(Self {
            rustc: field("release:")?,
            target: field("host:")?,
        })
    }
}

impl Baseline {
    pub(super) fn new(toolchain: Toolchain, counts: &Counts) -> Self {
        // A tenth of an instruction is more than what is looked at.
        let round = |count: f64| (count * 10.0).round() / 10.0;
        Self {
            toolchain,
            instructions: counts
                .iter()
                .map(|(name, count)| (name.clone(), round(*count)))
                .collect(),
        }
    }

    pub(super) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file)
            .with_context(|| format!("{BASELINE}; `cargo xtask counts --bless` makes it"))?;
        Self::parse(&text).context(BASELINE)
    }

    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        fs::write(file, self.show()).context(BASELINE)
    }

    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let word = |key: &str| {
            let word = value.get(key).and_then(Value::as_str);
            word.map(str::to_owned)
                .with_context(|| format!("no text `{key}`"))
        };
        let counts = value
            .get("instructions_per_operation")
            .and_then(Value::as_object)
            .context("no `instructions_per_operation`")?;
        let instructions = counts
            .iter()
            .map(|(name, count)| {
                let count = count.as_f64().filter(|count| *count > 0.0);
                let count = count.with_context(|| format!("{name} has no count"))?;
                Ok((name.clone(), count))
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Self {
            toolchain: Toolchain {
                rustc: word("rustc")?,
                target: word("target")?,
            },
            instructions,
        })
    }

    pub(super) fn show(&self) -> String {
        let value = json!({
            "rustc": self.toolchain.rustc,
            "target": self.toolchain.target,
            "instructions_per_operation": self.instructions,
        });
        format!("{value:#}\n")
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rustc {} for {}", self.rustc, self.target)
    }
}
