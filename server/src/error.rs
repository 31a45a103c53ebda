//! Errors of the serving side, one enum per operation.

use ringmain_codec::{Blame, EndpointId, Status};

/// How a handler says that its request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", status.name())]
pub struct HandlerError {
    /// The terminal's status.
    pub status: Status,
    /// Text for people; the caller sees its first KiB.
    pub message: String,
}

impl HandlerError {
    /// The application's own failure.
    pub fn application(message: impl Into<String>) -> Self {
        Self {
            status: Status::Application,
            message: message.into(),
        }
    }

    /// The request makes no sense to this endpoint.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self {
            status: Status::InvalidRequest,
            message: message.into(),
        }
    }
}

impl From<SinkError> for HandlerError {
    fn from(error: SinkError) -> Self {
        let status = match error {
            SinkError::Killed => Status::Killed,
            SinkError::Closed => Status::ConnectionLost,
            SinkError::TooLarge => Status::TooLarge,
        };
        Self {
            status,
            message: error.to_string(),
        }
    }
}

/// Why a token was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The caller dropped the stream.
    #[error("the caller dropped the stream")]
    Killed,
    /// The stream has ended or its connection is gone.
    #[error("the stream has ended")]
    Closed,
    /// The message is longer than the caller takes.
    #[error("the message is longer than the caller takes")]
    TooLarge,
}

impl SinkError {
    /// Whether sending the same again could work; it never does.
    pub const fn is_retryable(&self) -> bool {
        false
    }

    /// Who caused it.
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Killed => Blame::Caller,
            Self::Closed => Blame::Network,
            Self::TooLarge => Blame::Us,
        }
    }
}

/// Why an endpoint is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// This process serves it already.
    #[error("{0} is served by this process already")]
    Duplicate(EndpointId),
    /// The shards have stopped.
    #[error("the shards have stopped")]
    Stopped,
}
