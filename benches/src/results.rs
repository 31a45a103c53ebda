//! The results file: all figures of all repetitions.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::Machine;
use crate::stats::Spread;

/// One run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    /// How to get these results again.
    pub(crate) command: String,
    /// Of this program and of the systems that took part.
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) rows: Vec<Row>,
}

/// One row: a workload, a system, its parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) workload: String,
    pub(crate) system: String,
    /// Whatever tells this row from others of the same workload and system.
    pub(crate) params: BTreeMap<String, Value>,
    /// The figures of each repetition that gave any.
    pub(crate) reps: Vec<BTreeMap<String, f64>>,
    /// The figures of the repetition that counted syscalls and allocations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) traced: Option<BTreeMap<String, f64>>,
    /// Whether every repetition did exactly the work that was asked for.
    pub(crate) work_clean: bool,
    /// What went wrong, by repetition.
    pub(crate) failures: Vec<String>,
}

impl Row {
    /// A figure of every repetition.
    pub(crate) fn values(&self, figure: &str) -> Vec<f64> {
        let reps = self.reps.iter();
        reps.filter_map(|rep| rep.get(figure).copied()).collect()
    }

    /// The spread of a figure over the repetitions; counted figures are of one repetition.
    pub(crate) fn spread(&self, figure: &str) -> Option<Spread> {
        let measured = Spread::of(self.values(figure));
        measured.or_else(|| Spread::of(self.traced.as_ref()?.get(figure).copied()))
    }

    /// A parameter as people read it.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.params.get(name).map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    /// A name for files: the same for the same workload, system and parameters.
    pub(crate) fn file_stem(&self) -> String {
        let mut stem = format!("{}.{}", self.workload, self.system);
        for name in self.params.keys() {
            let value = self.param(name).unwrap_or_default();
            stem.push_str(&format!(".{name}={value}"));
        }
        let safe = |c: char| c.is_ascii_alphanumeric() || "._=-".contains(c);
        let stem = stem.chars().map(|c| if safe(c) { c } else { '_' });
        stem.take(200).collect()
    }
}

impl Results {
    /// Reads a results file.
    pub(crate) fn load(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is no results file", path.display()))
    }

    /// Writes a results file; a reader never sees half of one.
    pub(crate) fn save(&self, path: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        write_whole(path, &text)
    }

    /// The rows of one workload.
    pub(crate) fn rows_of(&self, workload: &str) -> Vec<&Row> {
        let rows = self.rows.iter();
        rows.filter(|row| row.workload == workload).collect()
    }
}

/// Writes a file under another name first, and makes its folder.
pub(crate) fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let say = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(say)?;
    }
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".part");
    std::fs::write(&unfinished, text).with_context(say)?;
    std::fs::rename(&unfinished, path).with_context(say)
}
