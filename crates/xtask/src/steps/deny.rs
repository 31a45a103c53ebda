use crate::context::Context;
use crate::gate::Outcome;
use crate::install::{Missing, cargo_tool};
use crate::process::run;

const CARGO_DENY_VERSION: &str = "0.20.2";

pub(super) fn deny(context: &Context) -> anyhow::Result<Outcome> {
    if let Err(Missing(reason)) = cargo_tool(context, "cargo-deny", CARGO_DENY_VERSION) {
        return Ok(Outcome::Skipped(reason));
    }
    let mut command = context.cargo(["deny", "--workspace", "--locked", "check"]);
    run(command.args(["--hide-inclusion-graph", "bans", "licenses", "sources"]))?;
    Ok(Outcome::Passed)
}

/// Apart from the rest: its verdict changes with a database on the network, not with our code, so
/// it must not decide whether a change is good.
pub(super) fn advisories(context: &Context) -> anyhow::Result<Outcome> {
    if !context.options.asked_for {
        let reason = "needs a database from the network; run `cargo xtask advisories`";
        return Ok(Outcome::Skipped(reason.into()));
    }
    if let Err(Missing(reason)) = cargo_tool(context, "cargo-deny", CARGO_DENY_VERSION) {
        return Ok(Outcome::Skipped(reason));
    }
    run(&mut context.cargo(["deny", "--workspace", "check", "advisories"]))?;
    Ok(Outcome::Passed)
}
