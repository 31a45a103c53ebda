//! The status registry: one table for every terminal of a stream or connection (spec 10).

use std::fmt;

/// Whose fault a failure is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// Whoever sent the request.
    Caller,
    /// The other end of the connection.
    Peer,
    /// What lies between.
    Network,
    /// This process.
    Us,
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Caller => "caller",
            Self::Peer => "peer",
            Self::Network => "network",
            Self::Us => "us",
        })
    }
}

/// Whether a failed request reached its handler.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Started {
    /// Certainly not: never handed to the kernel, refused with a type, or above GOAWAY's last id.
    No,
    /// Nobody can say.
    Unknown,
    /// ACCEPT or DATA was seen.
    Yes,
}

impl fmt::Display for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::No => "no",
            Self::Unknown => "unknown",
            Self::Yes => "yes",
        })
    }
}

macro_rules! registry {
    ($(
        $code:literal $variant:ident $name:literal $blame:ident $retry_safe:literal $doc:literal;
    )*) => {
        /// How a stream or a connection ended. A code that this version does not know is kept
        /// as `Unknown`, so that it can be passed on.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Status {
            $(#[doc = $doc] $variant,)*
            /// A code of a later version; build it with `from_code`, which never returns a known
            /// code in this form.
            Unknown(u16),
        }

        impl Status {
            /// Every status of this version, by code.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant,)*];

            /// The wire value.
            #[must_use]
            pub const fn code(self) -> u16 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Unknown(code) => code,
                }
            }

            /// The status for a wire value. Total: every value has one.
            #[must_use]
            pub const fn from_code(code: u16) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    _ => Self::Unknown(code),
                }
            }

            /// The name used in logs, counters and errors.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Unknown(_) => "unknown",
                }
            }

            /// Whose fault it is, seen from the dialer. Means nothing for `Ok`.
            #[must_use]
            pub const fn blame(self) -> Blame {
                match self {
                    $(Self::$variant => Blame::$blame,)*
                    Self::Unknown(_) => Blame::Peer,
                }
            }

            /// Trying again elsewhere is safe and may help, provided that the stream had not
            /// started ([`Started::No`]).
            #[must_use]
            pub const fn is_retry_safe(self) -> bool {
                match self {
                    $(Self::$variant => $retry_safe,)*
                    Self::Unknown(_) => false,
                }
            }
        }
    };
}

registry! {
    0  Ok               "ok"                Us      false "All of the response was delivered.";
    1  Cancelled        "cancelled"         Caller  false "Ended early because STOP asked for it.";
    2  Killed           "killed"            Caller  false "Dropped because KILL asked for it.";
    3  DeadlineExceeded "deadline_exceeded" Caller  false "The deadline passed first.";
    4  Overloaded       "overloaded"        Peer    true  "A limit was reached; END names it and says when to retry.";
    5  Draining         "draining"          Peer    true  "The instance or the endpoint takes no new streams.";
    6  UnknownEndpoint  "unknown_endpoint"  Peer    true  "The instance does not serve this endpoint.";
    7  StaleInstance    "stale_instance"    Peer    true  "The address now belongs to another instance.";
    8  Unauthorized     "unauthorized"      Caller  false "The caller may not do this.";
    9  TooLarge         "too_large"         Caller  false "A message is over `message_bytes_max`.";
    10 InvalidRequest   "invalid_request"   Caller  false "The handler cannot read the request.";
    11 Application      "application"       Peer    false "The handler's own error; its code and text are in END.";
    12 HandlerPanicked  "handler_panicked"  Peer    false "The handler panicked.";
    13 ProtocolError    "protocol_error"    Peer    false "The other end broke the wire protocol.";
    14 ConnectionLost   "connection_lost"   Network false "The connection went away before the terminal.";
    15 PeerUnresponsive "peer_unresponsive" Network false "Nothing was received for too many keepalive intervals.";
    16 Internal         "internal"          Us      false "A defect or an exhausted resource on this side.";
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(code) => write!(f, "unknown({code})"),
            known => f.pad(known.name()),
        }
    }
}
