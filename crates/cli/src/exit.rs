//! What the command's exit code means.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Ok,
    /// It worked, and the answer is no: the call failed, streams were lost or cut off.
    Negative,
}

/// Wrong usage, or the command itself could not work.
pub(crate) const FAILURE: u8 = 2;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Ok => Self::SUCCESS,
            Exit::Negative => Self::from(1),
        }
    }
}
