use crate::context::Context;
use crate::gate::Outcome;
use crate::process::{run, say, succeeds};

use super::fuzz::FUZZ_MANIFEST;

pub(super) fn fmt(context: &Context) -> anyhow::Result<Outcome> {
    run(&mut context.cargo(["fmt", "--all", "--check"]))?;
    if context.has(FUZZ_MANIFEST) {
        run(&mut context.cargo(["fmt", "--manifest-path", FUZZ_MANIFEST, "--check"]))?;
    }
    Ok(Outcome::Passed)
}

pub(super) fn lint(context: &Context) -> anyhow::Result<Outcome> {
    let args = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ];
    run(&mut context.cargo(args))?;
    Ok(Outcome::Passed)
}

pub(super) fn unit(context: &Context) -> anyhow::Result<Outcome> {
    let long = context.options.long;
    if succeeds(&mut context.cargo(["nextest", "--version"])) {
        let mut command = context.cargo(["nextest", "run", "--workspace", "--locked"]);
        command.args(long.then_some(["--profile", "long"]).into_iter().flatten());
        run(&mut command)?;
    } else {
        say("cargo-nextest is missing, `cargo test` stands in for it; to install it:");
        say("    cargo install cargo-nextest --locked");
        let mut command = context.cargo(["test", "--workspace", "--all-targets", "--locked"]);
        command.args(
            (!long)
                .then_some(["--", "--skip", "long_"])
                .into_iter()
                .flatten(),
        );
        run(&mut command)?;
    }
    Ok(Outcome::Passed)
}

pub(super) fn doctest(context: &Context) -> anyhow::Result<Outcome> {
    run(&mut context.cargo(["test", "--workspace", "--doc", "--locked"]))?;
    Ok(Outcome::Passed)
}

pub(super) fn doc(context: &Context) -> anyhow::Result<Outcome> {
    let mut command = context.cargo(["doc", "--workspace", "--no-deps", "--locked"]);
    run(command.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    Ok(Outcome::Passed)
}
