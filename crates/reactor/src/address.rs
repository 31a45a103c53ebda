//! Where a peer listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The prefix that marks a path in an address's text.
const UNIX_PREFIX: &str = "unix:";

/// A TCP or Unix socket address.
///
/// The text forms are `1.2.3.4:80`, `[::1]:80` and `unix:/run/x.sock`; names are not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// TCP.
    Ip(SocketAddr),
    /// A stream socket in the file system.
    Unix(PathBuf),
}

impl Address {
    /// Whether another host could reach this address: neither loopback, unspecified nor a path.
    #[must_use]
    pub fn is_remote_reachable(&self) -> bool {
        match self {
            Self::Ip(addr) => !addr.ip().is_loopback() && !addr.ip().is_unspecified(),
            Self::Unix(_) => false,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Self {
        Self::Ip(addr)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX_PREFIX}{}", path.display()),
        }
    }
}

/// Why a text is not an [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address: expected 1.2.3.4:80, [::1]:80 or unix:/path")]
pub struct AddressParseError {
    text: String,
}

impl FromStr for Address {
    type Err = AddressParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = match text.strip_prefix(UNIX_PREFIX) {
            Some(path) if !path.is_empty() => Some(Self::Unix(PathBuf::from(path))),
            Some(_) => None,
            None => text.parse().ok().map(Self::Ip),
        };
        parsed.ok_or_else(|| AddressParseError {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
