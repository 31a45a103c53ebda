use std::process::Command;

use crate::context::Context;
use crate::process::{capture, run, say, succeeds};

/// What a missing tool means for the step that wanted it: the reason, and what would help.
#[derive(Debug)]
pub(crate) struct Missing(pub(crate) String);

/// A program from a Debian package: installed with apt-get when that is possible and allowed.
pub(crate) fn system_program(program: &str, package: &str) -> Result<(), Missing> {
    if succeeds(Command::new(program).arg("--version")) {
        return Ok(());
    }
    let hint = format!("`{program}` is missing: install the system package `{package}`");
    if !succeeds(Command::new("apt-get").arg("--version")) {
        return Err(Missing(format!(
            "{hint} (there is no apt-get here to do it with)"
        )));
    }
    let is_root = capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_root {
        return Err(Missing(format!(
            "{hint}, for example `sudo apt-get install {package}`"
        )));
    }
    say(&format!(
        "`{program}` is missing: installing the package `{package}`"
    ));
    run(apt_get().arg("update"))
        .and_then(|()| run(apt_get().args(["install", "-y", "--no-install-recommends", package])))
        .map_err(|error| Missing(format!("{hint} ({error:#})")))
}

/// A cargo subcommand, built from its published sources when it is missing.
pub(crate) fn cargo_tool(context: &Context, tool: &str, version: &str) -> Result<(), Missing> {
    let Some(subcommand) = tool.strip_prefix("cargo-") else {
        return Err(Missing(format!(
            "`{tool}` is not the name of a cargo subcommand"
        )));
    };
    if succeeds(&mut context.cargo([subcommand, "--version"])) {
        return Ok(());
    }
    say(&format!(
        "`{tool}` is missing: building it once, this takes some minutes"
    ));
    let mut install = context.cargo(["install", tool, "--locked", "--version", version]);
    run(install
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS"))
    .map_err(|error| {
        let by_hand = format!("cargo install {tool} --locked --version {version}");
        Missing(format!(
            "`{tool}` could not be installed ({error:#}); by hand: `{by_hand}`"
        ))
    })
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
