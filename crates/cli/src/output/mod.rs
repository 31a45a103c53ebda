//! What people and programs read: data to stdout, talk to stderr.

mod latency;
mod table;

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

pub(crate) use self::latency::{Latency, LatencyJson};
pub(crate) use self::table::print_summary;

/// Writes data to stdout at once; a reader that has gone away is no error, it ends the program.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text)?;
    stdout.flush()
}

/// Prints one JSON object on a line of its own.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    print(&line)?;
    Ok(())
}

/// Says something to the person at the terminal.
pub(crate) fn say(text: fmt::Arguments<'_>) {
    // Nobody to talk to is no reason to stop working.
    drop(writeln!(io::stderr().lock(), "{text}"));
}
