//! Where an instance listens.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// An address that peers dial, or that a listener is bound to.
///
/// Written `10.0.0.7:7000`, `[2001:db8::7]:7000`, `worker-3.prod:7000` or
/// `unix:/run/ringmain.sock`; parsing and showing are inverse.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum TransportAddr {
    /// TCP to a numeric address.
    Tcp(SocketAddr),
    /// TCP to a name that the dialer resolves.
    Host {
        /// Host name: letters, digits, `-`, `_` and dots, not a number.
        name: Box<str>,
        /// TCP port.
        port: u16,
    },
    /// A Unix stream socket, for peers on the same host.
    Unix(PathBuf),
}

impl TransportAddr {
    /// Whether it names every address of a host, and so none that can be dialed.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        matches!(self, Self::Tcp(address) if canonical(address).is_unspecified())
    }

    /// Whether only the same host can reach it.
    #[must_use]
    pub fn is_host_local(&self) -> bool {
        match self {
            Self::Tcp(address) => canonical(address).is_loopback(),
            Self::Host { name, .. } => &**name == "localhost" || name.ends_with(".localhost"),
            Self::Unix(_) => true,
        }
    }

    /// Whether a peer could dial it: no wildcard, no port 0, no relative path.
    #[must_use]
    pub fn is_dialable(&self) -> bool {
        match self {
            Self::Tcp(address) => address.port() != 0 && !self.is_wildcard(),
            Self::Host { port, .. } => *port != 0,
            Self::Unix(path) => path.is_absolute(),
        }
    }
}

/// An IPv4 address that is wrapped in IPv6 counts as what it is.
fn canonical(address: &SocketAddr) -> IpAddr {
    address.ip().to_canonical()
}

impl From<SocketAddr> for TransportAddr {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for TransportAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Host { name, port } => write!(f, "{name}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The text is not an address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is no address: write IP:PORT, [IPv6]:PORT, HOST:PORT or unix:/PATH")]
pub struct ParseTransportAddrError {
    text: String,
}

impl FromStr for TransportAddr {
    type Err = ParseTransportAddrError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseTransportAddrError {
            text: text.chars().take(64).collect(),
        };
        if let Some(path) = text.strip_prefix("unix:") {
            let usable = !path.is_empty() && !path.contains('\0');
            return usable.then(|| Self::Unix(path.into())).ok_or_else(error);
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Tcp(address));
        }
        let (name, port) = text.rsplit_once(':').ok_or_else(error)?;
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or_else(error)?;
        if !is_host_name(name) {
            return Err(error());
        }
        Ok(Self::Host {
            name: name.into(),
            port,
        })
    }
}

/// A name that resolvers take for a name. One whose last label is a number ("0", "127.1", "0x7f.1")
/// would be read as an IPv4 address, and some of those are wildcards.
pub(crate) fn is_host_name(name: &str) -> bool {
    const BYTES_MAX: usize = 253;
    const LABEL_BYTES_MAX: usize = 63;
    let is_label = |label: &str| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(legal)
            && !label.starts_with('-')
    };
    let labels = name.strip_suffix('.').unwrap_or(name);
    let last = labels.rsplit('.').next().unwrap_or_default();
    let number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.starts_with("0x")
        || last.starts_with("0X");
    name.len() <= BYTES_MAX && labels.split('.').all(is_label) && !number
}

impl Serialize for TransportAddr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unix(path) if path.to_str().is_none() => Err(ser::Error::custom(
                "a socket path in a record must be valid UTF-8",
            )),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for TransportAddr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip_and_are_classified() {
        // text, wildcard, host-local, dialable
        let check = |text: &str, facts: [bool; 3]| {
            let address: TransportAddr = text.parse().expect(text);
            assert_eq!(address.to_string(), text);
            let found = [
                address.is_wildcard(),
                address.is_host_local(),
                address.is_dialable(),
            ];
            assert_eq!(found, facts, "{text}");
            let json = serde_json::to_string(&address).expect(text);
            assert_eq!(
                serde_json::from_str::<TransportAddr>(&json).expect(&json),
                address
            );
        };
        check("10.0.0.7:7000", [false, false, true]);
        check("10.0.0.7:0", [false, false, false]);
        check("127.0.0.1:7000", [false, true, true]);
        check("0.0.0.0:7000", [true, false, false]);
        check("[::]:7000", [true, false, false]);
        check("[::ffff:0.0.0.0]:7000", [true, false, false]);
        check("[::1]:7000", [false, true, true]);
        check("[2001:db8::7]:7000", [false, false, true]);
        check("worker-3.prod_x:7000", [false, false, true]);
        check("localhost:7000", [false, true, true]);
        check("unix:/run/a b.sock", [false, true, true]);
        check("unix:relative.sock", [false, true, false]);
    }

    #[test]
    fn other_texts_are_refused() {
        let long = format!("{}:1", "a.".repeat(200));
        let texts = [
            "",
            "7000",
            ":7000",
            "host",
            "host:",
            "host:x",
            "host:70000",
            "host:+1",
            "::1:80",
            "2001:db8::7:70",
            "[::1]",
            "[host]:1",
            "0:80",
            "127.1:80",
            "0x0:80",
            "a.0:80",
            "-a:80",
            "a..b:80",
            "a b:80",
            "unix:",
            "unix:\0",
            "é:80",
            &long,
        ];
        for text in texts {
            assert!(text.parse::<TransportAddr>().is_err(), "{text}");
        }
    }
}
