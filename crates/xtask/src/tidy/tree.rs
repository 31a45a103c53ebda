use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// A text file, by its path from the root with `/` between its parts.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// Whether the file holds tests only.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.split('/').any(|part| part == "tests")
    }

    /// Lines with their numbers, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

/// The project's files, without what builds and runs leave behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    files: Vec<File>,
    /// Files that are not text, and folders.
    others: BTreeSet<String>,
}

/// Folders that hold nothing written by hand.
const LEFT_OUT: [&str; 5] = [
    "target",
    "corpus",
    "artifacts",
    "node_modules",
    "__pycache__",
];
/// Dot folders that do hold something written by hand.
const DOT_FOLDERS: [&str; 4] = [".cargo", ".ci", ".config", ".github"];

impl Tree {
    pub(crate) fn load(root: &Path) -> anyhow::Result<Self> {
        let mut tree = Self::default();
        tree.load_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A made tree for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| File {
            path: path.into(),
            text: text.into(),
        };
        Self {
            files: files.iter().map(file).collect(),
            others: BTreeSet::new(),
        }
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether there is a file or folder with this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let below = format!("{path}/");
        path.is_empty()
            || self.others.contains(path)
            || self
                .files
                .iter()
                .any(|file| file.path == path || file.path.starts_with(&below))
    }

    fn load_folder(&mut self, root: &Path, relative: &str) -> anyhow::Result<()> {
        let folder = root.join(relative);
        let entries = folder
            .read_dir()
            .with_context(|| format!("{}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if relative.is_empty() {
                name.clone()
            } else {
                format!("{relative}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let hidden = name.starts_with('.') && !DOT_FOLDERS.contains(&name.as_str());
                if hidden || LEFT_OUT.contains(&name.as_str()) {
                    continue;
                }
                self.others.insert(path.clone());
                self.load_folder(root, &path)?;
            } else if kind.is_file() {
                // Golden frames and the like are not text, and no rule is about them.
                match fs::read_to_string(entry.path()) {
                    Ok(text) => self.files.push(File { path, text }),
                    Err(_) => _ = self.others.insert(path),
                }
            }
        }
        Ok(())
    }
}
