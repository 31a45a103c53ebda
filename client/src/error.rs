//! How a call or its response stream can fail.

use std::time::Duration;

use ringmain_codec::{Blame, EndpointId, InstanceId, Started, Status};

/// How a response stream ended when it did not end well. Always its last item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{status} (started: {started}){}", Detail(.message))]
pub struct StreamError {
    /// What happened.
    pub status: Status,
    /// Whether the handler had been called.
    pub started: Started,
    /// Who had been asked.
    pub instance: Option<InstanceId>,
    /// Text for people; may be empty.
    pub message: String,
    /// Name of the limit that was hit, if one was.
    pub limit: Option<String>,
    /// When to try again, if the responder said so.
    pub retry_after: Option<Duration>,
}

impl StreamError {
    pub(crate) fn new(status: Status, started: Started, message: impl Into<String>) -> Self {
        Self {
            status,
            started,
            instance: None,
            message: message.into(),
            limit: None,
            retry_after: None,
        }
    }

    pub(crate) fn limit(mut self, limit: &str) -> Self {
        self.limit = Some(limit.to_owned());
        self
    }

    pub(crate) const fn at(mut self, instance: InstanceId) -> Self {
        self.instance = Some(instance);
        self
    }

    /// Whether the same request may be sent again without running twice.
    pub fn is_retryable(&self) -> bool {
        let lost = matches!(
            self.status,
            Status::ConnectionLost | Status::PeerUnresponsive
        );
        self.started == Started::No && (lost || self.status.is_retry_safe())
    }

    /// Whose fault it is.
    pub const fn blame(&self) -> Blame {
        self.status.blame()
    }
}

/// Why a call led to no response stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Discovery knows nobody who serves the endpoint.
    #[error("no instance serves {endpoint}")]
    NoInstances {
        /// Who was asked for.
        endpoint: EndpointId,
    },
    /// The instance that the call names does not serve the endpoint.
    #[error("instance {instance} does not serve {endpoint}")]
    UnknownInstance {
        /// Who was asked for.
        endpoint: EndpointId,
        /// The instance named by the call.
        instance: InstanceId,
    },
    /// No instance could be connected; this is what the last one said.
    #[error("instance {instance}: {kind}{}", Detail(.message))]
    Connect {
        /// The last instance tried.
        instance: InstanceId,
        /// What went wrong.
        kind: ConnectErrorKind,
        /// Text for people; may be empty.
        message: String,
    },
    /// A limit of this client was reached before anything was sent.
    #[error("overloaded: {limit} reached")]
    Overloaded {
        /// The limit's name in the configuration.
        limit: &'static str,
    },
    /// The deadline passed before the responder took the request.
    #[error("deadline_exceeded (started: {started})")]
    DeadlineExceeded {
        /// Whether the handler may have been called.
        started: Started,
        /// Who had been asked, if anybody.
        instance: Option<InstanceId>,
    },
    /// The registry could not be asked who serves the endpoint.
    #[error("discovery: {message}")]
    Discovery {
        /// What it said.
        message: String,
    },
    /// The call itself is not valid.
    #[error("invalid call: {message}")]
    Invalid {
        /// Which rule it breaks.
        message: String,
    },
    /// The responder, or the connection to it, ended the stream before the handler took it.
    #[error(transparent)]
    Rejected(#[from] StreamError),
    /// The client's home has stopped.
    #[error("client is closed")]
    Closed,
}

impl CallError {
    /// The registry's status for this failure.
    pub const fn status(&self) -> Status {
        match self {
            Self::NoInstances { .. } | Self::UnknownInstance { .. } => Status::UnknownEndpoint,
            Self::Connect {
                kind: ConnectErrorKind::StaleInstance,
                ..
            } => Status::StaleInstance,
            Self::Connect {
                kind: ConnectErrorKind::Protocol,
                ..
            } => Status::ProtocolError,
            Self::Connect {
                kind: ConnectErrorKind::Draining,
                ..
            } => Status::Draining,
            Self::Connect { .. } => Status::ConnectionLost,
            Self::Overloaded { .. } => Status::Overloaded,
            Self::DeadlineExceeded { .. } => Status::DeadlineExceeded,
            Self::Invalid { .. } => Status::InvalidRequest,
            Self::Rejected(error) => error.status,
            Self::Closed | Self::Discovery { .. } => Status::Internal,
        }
    }

    /// Whether the handler had been called.
    pub const fn started(&self) -> Started {
        match self {
            Self::DeadlineExceeded { started, .. } => *started,
            Self::Rejected(error) => error.started,
            _ => Started::No,
        }
    }

    /// Who had been asked last, if anybody.
    pub const fn instance(&self) -> Option<InstanceId> {
        match self {
            Self::UnknownInstance { instance, .. } | Self::Connect { instance, .. } => {
                Some(*instance)
            }
            Self::DeadlineExceeded { instance, .. } => *instance,
            Self::Rejected(error) => error.instance,
            _ => None,
        }
    }

    /// Whether the same call may be made again without running twice.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NoInstances { .. }
            | Self::Connect { .. }
            | Self::Overloaded { .. }
            | Self::Discovery { .. } => true,
            Self::Rejected(error) => error.is_retryable(),
            Self::UnknownInstance { .. }
            | Self::DeadlineExceeded { .. }
            | Self::Invalid { .. }
            | Self::Closed => false,
        }
    }

    /// Whose fault it is.
    pub const fn blame(&self) -> Blame {
        match self {
            Self::NoInstances { .. } | Self::Discovery { .. } => Blame::Peer,
            Self::Connect { kind, .. } => kind.blame(),
            Self::Overloaded { .. } | Self::Closed => Blame::Us,
            Self::UnknownInstance { .. } | Self::Invalid { .. } => Blame::Caller,
            Self::DeadlineExceeded { .. } => Blame::Caller,
            Self::Rejected(error) => error.blame(),
        }
    }
}

/// What kept an instance from being connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// Nobody listens at the address.
    Refused,
    /// `connect_timeout` passed before the handshake was done.
    TimedOut,
    /// The connection ended during the handshake.
    Reset,
    /// The address is not reachable, or not usable from here.
    Unreachable,
    /// The address belongs to another instance now.
    StaleInstance,
    /// The instance takes no new streams.
    Draining,
    /// What answered does not speak this protocol, or not this version.
    Protocol,
}

impl ConnectErrorKind {
    /// Whose fault it is.
    pub const fn blame(self) -> Blame {
        match self {
            Self::Refused | Self::StaleInstance | Self::Draining | Self::Protocol => Blame::Peer,
            Self::TimedOut | Self::Reset | Self::Unreachable => Blame::Network,
        }
    }
}

impl std::fmt::Display for ConnectErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Refused => "connection refused",
            Self::TimedOut => "connect timed out",
            Self::Reset => "connection ended during the handshake",
            Self::Unreachable => "address not reachable",
            Self::StaleInstance => "address belongs to another instance",
            Self::Draining => "instance is draining",
            Self::Protocol => "peer does not speak this protocol",
        })
    }
}

/// Shows a message after a colon, or nothing when it is empty.
struct Detail<'a>(&'a str);

impl std::fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            Ok(())
        } else {
            write!(f, ": {}", self.0)
        }
    }
}
