use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::context::Context;
use crate::gate::Outcome;
use crate::process::{capture, say};

#[cfg(test)]
mod tests;

pub(super) fn demo(context: &Context) -> anyhow::Result<Outcome> {
    let report = capture(&mut context.cargo([
        "run",
        "--quiet",
        "--release",
        "--locked",
        "--package",
        "ringmain-cli",
        "--",
        "demo",
        "--json",
    ]))?;
    say(report.trim_end());
    check_report(&report)?;
    Ok(Outcome::Passed)
}

/// Every stream that was started must be accounted for, and none may have failed.
fn check_report(report: &str) -> anyhow::Result<()> {
    let report: Value = serde_json::from_str(report).context("the demo's report is not JSON")?;
    let count = |key: &str| {
        report
            .get(key)
            .and_then(Value::as_u64)
            .with_context(|| format!("no count `{key}`"))
    };
    let started = count("streams_started")?;
    let ok = count("streams_ok")?;
    let cancelled = count("streams_cancelled")?;
    let failed = count("streams_failed")?;
    if failed > 0 {
        bail!("{failed} of {started} streams failed");
    }
    if ok == 0 {
        bail!("none of {started} streams ended well");
    }
    if started != ok + cancelled {
        bail!("{started} streams started, but {ok} ended well and {cancelled} were cancelled");
    }
    if count("tokens")? == 0 {
        bail!("no token was streamed");
    }
    Ok(())
}
