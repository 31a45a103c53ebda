//! What people and programs read: tables on stdout, files where asked.

use std::io::{self, Write};

pub(crate) mod columns;
pub(crate) mod format;
pub(crate) mod grid;
pub(crate) mod groups;
pub(crate) mod hgrm;
pub(crate) mod page;
pub(crate) mod table;

/// Writes data to stdout at once.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
