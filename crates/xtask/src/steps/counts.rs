mod baseline;
mod judge;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use self::baseline::{Baseline, Toolchain};
use self::judge::{TOLERANCE_PERCENT, Verdict};
use crate::context::Context;
use crate::gate::Outcome;
use crate::install::{Missing, system_program};
use crate::process::{capture, say};

#[cfg(test)]
mod tests;

/// What the counts of each benchmark were when somebody last looked at them.
const BASELINE: &str = "benches/micro/counts.json";
/// As it is shipped: without optimization across crates, a count moves with how the compiler
/// happens to cut a crate.
const PROFILE: &str = "release-lto";
/// At the edges of these the collecting is turned on or off (benches/micro, `meter.rs`).
const EDGES: [&str; 2] = [
    "counts::meter::counted_part*",
    "counts::meter::uncounted_part*",
];

/// A benchmark as its program lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bench {
    name: String,
    operations: u64,
}

/// Instructions per operation, by benchmark.
type Counts = Vec<(String, f64)>;

pub(super) fn counts(context: &Context) -> anyhow::Result<Outcome> {
    if let Err(Missing(reason)) = system_program("valgrind", "valgrind") {
        return Ok(Outcome::Skipped(reason));
    }
    let program = build(context)?;
    let benches = list(&capture(Command::new(&program).arg("--list"))?)?;
    let profiles = context.target_dir.join("counts");
    std::fs::create_dir_all(&profiles)?;
    say(&format!(
        "counting {} benchmarks; their profiles: callgrind_annotate {}/*.out",
        benches.len(),
        profiles.display()
    ));
    let counts = count_all(&program, &benches, &profiles)?;
    let toolchain = Toolchain::parse(&capture(Command::new("rustc").arg("-vV"))?)?;
    let file = context.root.join(BASELINE);
    if context.options.bless {
        Baseline::new(toolchain, &counts).write(&file)?;
        say(&format!("{BASELINE} is rewritten: look at its difference"));
        return Ok(Outcome::Passed);
    }
    let baseline = Baseline::read(&file)?;
    let verdict = judge::judge(&baseline, &counts);
    say(&verdict.table);
    conclude(&verdict, &baseline.toolchain, &toolchain)
}

fn conclude(verdict: &Verdict, made_with: &Toolchain, here: &Toolchain) -> anyhow::Result<Outcome> {
    if made_with != here {
        return Ok(Outcome::Skipped(format!(
            "shown, not judged: the baseline was made with {made_with}, this is {here}"
        )));
    }
    if !verdict.better.is_empty() {
        say(&format!(
            "BETTER by more than {TOLERANCE_PERCENT} %: {}; keep it with `cargo xtask counts --bless`",
            verdict.better.join(", ")
        ));
    }
    if !verdict.faults.is_empty() {
        bail!(
            "{}; if that is meant, `cargo xtask counts --bless` and say why in the commit",
            verdict.faults.join("; ")
        );
    }
    Ok(Outcome::Passed)
}

/// Builds the benchmarks and says where their program is.
fn build(context: &Context) -> anyhow::Result<PathBuf> {
    let mut build = context.cargo([
        "bench",
        "--locked",
        "--no-run",
        "--package",
        "ringmain-bench-micro",
        "--bench",
        "counts",
        "--profile",
        PROFILE,
        "--message-format",
        "json-render-diagnostics",
    ]);
    // A developer's own flags make other code.
    let messages = capture(build.env_remove("RUSTFLAGS"))?;
    executable(&messages).context("cargo built no benchmark program")
}

/// The program among cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_ours = message.get("target")?.get("name")? == "counts";
        let executable = message.get("executable")?.as_str()?;
        is_ours.then(|| PathBuf::from(executable))
    })
}

/// Lines of a name and a number of operations.
fn list(listed: &str) -> anyhow::Result<Vec<Bench>> {
    let benches: Vec<Bench> = listed
        .lines()
        .map(|line| {
            let (name, operations) = line.split_once(' ').context("no number")?;
            let operations = operations.parse().ok().filter(|&operations| operations > 0);
            let name = name.to_owned();
            let operations = operations.with_context(|| format!("{name} has no operations"))?;
            Ok(Bench { name, operations })
        })
        .collect::<anyhow::Result<_>>()?;
    if benches.is_empty() {
        bail!("the program lists no benchmark: nothing would be counted");
    }
    Ok(benches)
}

/// Counts one benchmark after the other, on as many CPUs as there are.
fn count_all(program: &Path, benches: &[Bench], profiles: &Path) -> anyhow::Result<Counts> {
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    let counted: Vec<anyhow::Result<Counts>> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes)
            .map(|lane| {
                let mine = benches.iter().skip(lane).step_by(lanes);
                scope.spawn(move || mine.map(|bench| count(program, bench, profiles)).collect())
            })
            .collect();
        let outcome = |lane: std::thread::ScopedJoinHandle<'_, _>| {
            lane.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        lanes.into_iter().map(outcome).collect()
    });
    let mut counts: Counts = Vec::new();
    for lane in counted {
        counts.extend(lane?);
    }
    counts.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(counts)
}

/// Each in a process of its own, so that none depends on what ran before it.
fn count(program: &Path, bench: &Bench, profiles: &Path) -> anyhow::Result<(String, f64)> {
    let Bench { name, operations } = bench;
    let profile = profiles.join(format!("{}.out", name.replace('/', ".")));
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .args(EDGES.map(|edge| format!("--toggle-collect={edge}")))
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .arg(name)
        .stdin(Stdio::null())
        // What the environment holds moves the stack.
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let output = valgrind.output().context("cannot start valgrind")?;
    let written = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        say(&written);
        bail!("{name} under valgrind ended with {}", output.status);
    }
    let total = collected(&written).with_context(|| format!("{name}: no count"))?;
    if total == 0 {
        bail!(
            "{name}: nothing was counted; does {} still exist?",
            EDGES[0]
        );
    }
    Ok((name.clone(), total as f64 / *operations as f64))
}

/// The count among callgrind's last lines, as in `==7== Collected : 1234`.
fn collected(written: &str) -> Option<u64> {
    written.lines().find_map(|line| {
        let (_, count) = line.split_once("Collected :")?;
        count.split_whitespace().next()?.parse().ok()
    })
}
