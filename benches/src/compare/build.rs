//! Building the peers.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::catalog::{Entry, Program, Programs};
use crate::versions::said;

/// A program that a peer needs, and where it comes from.
struct Tool {
    system: &'static str,
    program: &'static str,
    what: &'static str,
}

const TOOLS: [Tool; 2] = [
    Tool {
        system: "nats",
        program: "nats-server",
        what: "the broker; Debian and Ubuntu: apt-get install nats-server",
    },
    Tool {
        system: "dynamo_tcp",
        program: "protoc",
        what: "the protobuf compiler; Debian and Ubuntu: apt-get install protobuf-compiler",
    },
];
/// In a workspace of its own, with a compiler flag that the others must not have.
const APART: &str = "peer-dynamo";

/// Builds the binaries of these peers; cargo shows its own progress.
///
/// # Errors
///
/// If something is missing, which is named, or a build fails.
pub(super) fn build(programs: &Programs, peers: &[&Entry]) -> anyhow::Result<()> {
    let folder = programs.peers_dir();
    if !folder.join("Cargo.toml").is_file() {
        bail!(
            "the peers' workspace is not at {}: name it with --peers-dir",
            folder.display()
        );
    }
    check_tools(peers)?;
    let mut together = Vec::new();
    let mut apart = false;
    for peer in peers {
        match peer.program {
            Program::Peer(APART) => apart = true,
            Program::Peer(binary) if !together.contains(&binary) => together.push(binary),
            Program::Peer(_) | Program::Own => {}
        }
    }
    if !together.is_empty() {
        cargo(folder, programs.target_dir(), &together)?;
    }
    if apart {
        // Some minutes the first time: more than 350 crates.
        cargo(&folder.join("dynamo"), programs.target_dir(), &[APART])?;
    }
    Ok(())
}

fn check_tools(peers: &[&Entry]) -> anyhow::Result<()> {
    let needed = TOOLS.iter().filter(|tool| {
        let mut names = peers.iter().map(|peer| peer.name);
        names.any(|name| name == tool.system) && said(tool.program, &["--version"]).is_none()
    });
    let missing: Vec<String> = needed
        .map(|tool| format!("{} for {} ({})", tool.program, tool.system, tool.what))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "missing: {}. Install it, or leave those peers out with --peers",
        missing.join("; ")
    )
}

fn cargo(folder: &Path, target: &Path, packages: &[&str]) -> anyhow::Result<()> {
    let target = std::path::absolute(target)?;
    let mut command = Command::new("cargo");
    // From within the folder, so that its own .cargo/config.toml counts.
    command
        .current_dir(folder)
        .args(["build", "--release", "--locked"]);
    command.arg("--target-dir").arg(target);
    // What this program was built with is nothing that peers are to be built with.
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    for package in packages {
        command.args(["-p", package]);
    }
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!(
            "building {} in {} failed ({status}); its messages are above",
            packages.join(", "),
            folder.display()
        );
    }
    Ok(())
}
