use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::context::Context;
use crate::gate::Outcome;
use crate::install::{Missing, system_program};
use crate::process::{capture, run, run_quietly, say};

#[cfg(test)]
mod tests;

/// The fuzz targets are a workspace of their own, so that nothing else is built with their flags.
pub(super) const FUZZ_MANIFEST: &str = "codec/fuzz/Cargo.toml";

/// Coverage feedback for libFuzzer, on a stable compiler: what `cargo fuzz -s none` passes. The
/// address sanitizer needs a nightly, and crates without unsafe code have little use for it.
const FUZZ_RUSTFLAGS: [&str; 8] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Ccodegen-units=1",
];

pub(super) fn fuzz(context: &Context) -> anyhow::Result<Outcome> {
    // libFuzzer itself is C++, built from source.
    if let Err(Missing(reason)) = system_program("c++", "g++") {
        return Ok(Outcome::Skipped(reason));
    }
    let manifest = fs::read_to_string(context.root.join(FUZZ_MANIFEST)).context(FUZZ_MANIFEST)?;
    let targets = target_names(&manifest)?;
    let host = host_triple(&capture(std::process::Command::new("rustc").arg("-vV"))?)?;
    let target_dir = context.target_dir.join("fuzz");
    // A target triple, even the host's own, keeps the flags away from build scripts.
    let mut build = context.cargo(["build", "--release", "--manifest-path", FUZZ_MANIFEST]);
    build
        .args(["--bins", "--target", &host])
        .env("RUSTFLAGS", FUZZ_RUSTFLAGS.join(" "))
        .env("CARGO_TARGET_DIR", &target_dir);
    run(&mut build)?;
    for target in &targets {
        run_target(
            context,
            target,
            &target_dir.join(&host).join("release").join(target),
        )?;
    }
    Ok(Outcome::Passed)
}

fn run_target(context: &Context, target: &str, program: &Path) -> anyhow::Result<()> {
    let folder = context.root.join("codec/fuzz");
    let corpus = folder.join("corpus").join(target);
    let artifacts = folder.join("artifacts").join(target);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let mut command = std::process::Command::new(program);
    command
        .arg(format!("-max_total_time={}", context.options.fuzz_seconds))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([
            "-rss_limit_mb=2048",
            "-timeout=10",
            "-verbosity=0",
            "-print_final_stats=1",
        ])
        .arg(&corpus)
        .current_dir(&context.root);
    let seeds = folder.join("seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let written = run_quietly(&mut command).with_context(|| {
        let artifacts = format!("codec/fuzz/artifacts/{target}");
        format!("fuzz target {target} found a fault; its input is in {artifacts}")
    })?;
    // libFuzzer ends with counts, between pages of hints that are of no use here.
    let counts: Vec<&str> = written
        .lines()
        .filter_map(|line| line.strip_prefix("stat::"))
        .collect();
    if counts.is_empty() {
        bail!("fuzz target {target} reported no counts: did it run at all?");
    }
    counts
        .iter()
        .for_each(|count| say(&format!("{target}: {count}")));
    Ok(())
}

/// The `[[bin]]` names of the fuzz manifest, in its order.
fn target_names(manifest: &str) -> anyhow::Result<Vec<String>> {
    let table: toml::Table = manifest.parse().context(FUZZ_MANIFEST)?;
    let bins = table.get("bin").and_then(toml::Value::as_array);
    let names: Vec<String> = bins
        .into_iter()
        .flatten()
        .filter_map(|bin| bin.get("name")?.as_str().map(str::to_owned))
        .collect();
    if names.is_empty() {
        bail!("{FUZZ_MANIFEST} names no [[bin]]: nothing would be fuzzed");
    }
    Ok(names)
}

fn host_triple(version: &str) -> anyhow::Result<String> {
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}
