//! Which driver this host can run.

use std::fmt;
use std::str::FromStr;

mod uring;

pub use uring::{HostFacts, refusal_reason};

/// A kind of driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoKind {
    /// io_uring.
    Uring,
    /// epoll, where io_uring is refused.
    Epoll,
    /// The simulation.
    Sim,
}

impl fmt::Display for IoKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
            Self::Sim => "sim",
        })
    }
}

/// Which driver to use, as configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IoChoice {
    /// io_uring where the host allows it, else epoll.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// epoll.
    Epoll,
}

/// A text that names no driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no driver: expected auto, uring or epoll")]
pub struct IoChoiceParseError {
    text: String,
}

impl FromStr for IoChoice {
    type Err = IoChoiceParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "uring" => Ok(Self::Uring),
            "epoll" => Ok(Self::Epoll),
            _ => Err(IoChoiceParseError {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for IoChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Uring => "uring",
            Self::Epoll => "epoll",
        })
    }
}

/// The driver that a choice comes to on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The driver.
    pub kind: IoKind,
    /// Why it is not io_uring although that was wished for.
    pub reason: Option<String>,
}

/// io_uring was demanded and this host refuses it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("io_uring is not available: {reason}")]
pub struct ProbeError {
    /// What refuses it, and what would help.
    pub reason: String,
}

impl IoChoice {
    /// Finds out which driver this host can run, by running one.
    ///
    /// Called once at start, on any thread; it takes well under a millisecond where io_uring works.
    ///
    /// # Errors
    ///
    /// When io_uring is demanded and this host refuses it.
    pub fn resolve(self) -> Result<Resolved, ProbeError> {
        if self == Self::Epoll {
            return Ok(Resolved {
                kind: IoKind::Epoll,
                reason: None,
            });
        }
        match (uring::try_out(), self) {
            (Ok(()), _) => Ok(Resolved {
                kind: IoKind::Uring,
                reason: None,
            }),
            (Err(reason), Self::Uring) => Err(ProbeError { reason }),
            (Err(reason), _) => Ok(Resolved {
                kind: IoKind::Epoll,
                reason: Some(reason),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
