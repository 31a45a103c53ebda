use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, anyhow};

/// What the command line asked for beyond the choice of steps.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) long: bool,
    pub(crate) fuzz_seconds: u32,
    /// Counts become the baseline instead of being held against it.
    pub(crate) bless: bool,
    /// The step was named by itself: it must not be left out just because it is costly.
    pub(crate) asked_for: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            long: false,
            fuzz_seconds: 5,
            bless: false,
            asked_for: false,
        }
    }
}

/// Where the workspace is and how to call cargo in it.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) root: PathBuf,
    pub(crate) target_dir: PathBuf,
    pub(crate) options: Options,
    cargo: OsString,
}

impl Context {
    /// Finds the workspace from the working directory upward.
    pub(crate) fn discover(options: Options) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("the working directory is gone")?;
        let root = here
            .ancestors()
            .find(|folder| is_workspace_root(folder))
            .ok_or_else(|| anyhow!("no Cargo.toml with a [workspace] above {}", here.display()))?
            .to_path_buf();
        let target_dir =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        // A relative target directory is relative to the working directory, not to each step's.
        Ok(Self {
            target_dir: here.join(target_dir),
            root,
            options,
            cargo,
        })
    }

    /// Cargo in the workspace root.
    pub(crate) fn cargo<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(args).current_dir(&self.root);
        command
    }

    /// A command on the nightly toolchain, whatever toolchain runs this tool.
    pub(crate) fn rustup_run_nightly(&self) -> Command {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly"]).current_dir(&self.root);
        command
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO")
            .env_remove("RUSTC");
        command
    }

    pub(crate) fn has(&self, relative: &str) -> bool {
        self.root.join(relative).exists()
    }
}

fn is_workspace_root(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("Cargo.toml"))
        .is_ok_and(|text| text.lines().any(|line| line.trim() == "[workspace]"))
        // The fuzz targets are a workspace of their own, inside ours.
        && folder.join("crates").is_dir()
}
