use std::path::Path;

use anyhow::bail;

use crate::context::Context;
use crate::gate::Outcome;
use crate::process::run;

/// Three forced switches find nearly every real race and keep a model within seconds.
const PREEMPTIONS_MAX: &str = "3";

pub(super) fn loom(context: &Context) -> anyhow::Result<Outcome> {
    if !has_models(&context.root.join("crates/reactor/tests")) {
        bail!("no models in crates/reactor/tests/loom_*.rs: nothing would be checked");
    }
    let preemptions = std::env::var("LOOM_MAX_PREEMPTIONS");
    let mut command = context.cargo(["test", "--package", "ringmain-reactor", "--release"]);
    command
        .args(["--locked", "--test", "loom_*"])
        .env("RUSTFLAGS", "--cfg loom")
        .env(
            "LOOM_MAX_PREEMPTIONS",
            preemptions.as_deref().unwrap_or(PREEMPTIONS_MAX),
        )
        // Its flags differ: sharing a target directory would rebuild everything on each switch.
        .env("CARGO_TARGET_DIR", context.target_dir.join("loom"));
    run(&mut command)?;
    Ok(Outcome::Passed)
}

fn has_models(folder: &Path) -> bool {
    let Ok(entries) = folder.read_dir() else {
        return false;
    };
    entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("loom_"))
}
