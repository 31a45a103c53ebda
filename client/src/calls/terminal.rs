//! The one end of a stream, from wherever it came.

use std::time::Duration;

use ringmain_codec::{InstanceId, Started, Status, frame::End};

use crate::end::EndInfo;
use crate::error::StreamError;

/// Everything that is known once a stream has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    pub(crate) info: EndInfo,
    pub(crate) started: Started,
    pub(crate) limit: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    /// A cancel that this side asked for is no error to it.
    pub(crate) expected: bool,
}

impl Terminal {
    pub(crate) fn new(status: Status, started: Started, message: impl Into<String>) -> Self {
        Self {
            info: EndInfo::new(status, message),
            started,
            limit: None,
            retry_after: None,
            expected: false,
        }
    }

    pub(crate) fn from_end(end: &End<'_>, started: Started) -> Self {
        Self {
            info: EndInfo {
                status: end.status,
                message: end.message.to_owned(),
                trailers: end.trailers.as_bytes().to_vec(),
            },
            started,
            limit: end.limit.map(str::to_owned),
            retry_after: end.retry_after,
            expected: false,
        }
    }

    /// What the stream's last item says; `None` for a good end.
    pub(crate) fn error(&self, instance: InstanceId) -> Option<StreamError> {
        if self.info.status == Status::Ok || self.expected {
            return None;
        }
        Some(StreamError {
            status: self.info.status,
            started: self.started,
            instance: Some(instance),
            message: self.info.message.clone(),
            limit: self.limit.clone(),
            retry_after: self.retry_after,
        })
    }

    /// Whether another instance may be asked: this one takes no new streams, or is gone, and has
    /// certainly not seen this one.
    pub(crate) const fn is_turned_away(&self) -> bool {
        let gone = matches!(
            self.info.status,
            Status::Draining | Status::ConnectionLost | Status::PeerUnresponsive
        );
        gone && matches!(self.started, Started::No)
    }
}
