use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// One line on stdout. A reader that went away is not this tool's problem.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Runs a command with its output shown; a non-zero exit is an error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = show(command);
    say(&format!("$ {shown}"));
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Runs a command and gives back what it wrote to stdout; stderr stays shown.
pub(crate) fn capture(command: &mut Command) -> anyhow::Result<String> {
    let shown = show(command);
    say(&format!("$ {shown}"));
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` wrote no UTF-8"))
}

/// Runs a command and gives back what it wrote; a failure shows all of it.
pub(crate) fn run_quietly(command: &mut Command) -> anyhow::Result<String> {
    let shown = show(command);
    say(&format!("$ {shown}"));
    let output = command
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let mut written = String::from_utf8_lossy(&output.stdout).into_owned();
    written.push_str(&String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        say(&written);
        bail!("`{shown}` ended with {}", output.status);
    }
    Ok(written)
}

/// Whether a command can be started and succeeds; nothing is shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as one would type it, with the environment that was set for it.
fn show(command: &Command) -> String {
    let mut shown = String::new();
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            push_word(
                &mut shown,
                &format!("{}={}", key.display(), quote(&value.to_string_lossy())),
            );
        }
    }
    let program = std::path::Path::new(command.get_program());
    push_word(
        &mut shown,
        &program.file_name().unwrap_or_default().to_string_lossy(),
    );
    for arg in command.get_args() {
        push_word(&mut shown, &quote(&arg.to_string_lossy()));
    }
    shown
}

fn push_word(shown: &mut String, word: &str) {
    let gap = if shown.is_empty() { "" } else { " " };
    // Writing to a String cannot fail.
    write!(shown, "{gap}{word}").unwrap_or_default();
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}
