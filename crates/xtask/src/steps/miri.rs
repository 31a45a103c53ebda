use crate::context::Context;
use crate::gate::Outcome;
use crate::process::{run, succeeds};

pub(super) fn miri(context: &Context) -> anyhow::Result<Outcome> {
    let asked_for = context.options.asked_for || context.options.long;
    if !asked_for {
        return Ok(Outcome::Skipped(
            "slow; run `cargo xtask miri` or `test --long`".into(),
        ));
    }
    // Through rustup's proxy: the cargo that runs this tool is fixed to one toolchain.
    let mut rustup = context.rustup_run_nightly();
    if !succeeds(rustup.args(["cargo", "miri", "--version"])) {
        let reason =
            "needs a nightly toolchain with miri: `rustup toolchain install nightly -c miri`";
        return Ok(Outcome::Skipped(reason.into()));
    }
    let mut command = context.rustup_run_nightly();
    command
        .args([
            "cargo",
            "miri",
            "test",
            "--package",
            "ringmain-codec",
            "--lib",
        ])
        .env("CARGO_TARGET_DIR", context.target_dir.join("miri"));
    run(&mut command)?;
    Ok(Outcome::Passed)
}
