//! What a caller saw of its call.

use std::time::Duration;

use ringmain_client::{CallError, StreamError};
use ringmain_codec::{Started, Status};

use super::caller::Errand;

/// How a call ended for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nobody took it.
    Refused(CallError),
    /// The caller dropped the call before anybody took it.
    Abandoned,
    /// The caller dropped the stream of its response.
    Dropped,
    /// The stream had its terminal.
    Ended {
        /// How.
        status: Status,
        /// Whether the handler was called.
        started: Started,
        /// The error, unless the end was a good one.
        error: Option<StreamError>,
    },
}

/// One call, as its caller saw it.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was to be done.
    pub errand: Errand,
    /// How it ended.
    pub fate: Fate,
    /// Messages of the response.
    pub received: u32,
    /// When the call was made, in virtual time since the start.
    pub made: Duration,
    /// When it had ended.
    pub ended: Duration,
    /// What was wrong with what was received.
    pub faults: Vec<String>,
}

impl Report {
    /// The status at its end; `None` if the caller did not wait for one.
    pub const fn status(&self) -> Option<Status> {
        match &self.fate {
            Fate::Refused(error) => Some(error.status()),
            Fate::Ended { status, .. } => Some(*status),
            Fate::Abandoned | Fate::Dropped => None,
        }
    }

    /// What the caller was told about the handler; `None` if it did not wait to be told.
    pub const fn started(&self) -> Option<Started> {
        match &self.fate {
            Fate::Refused(error) => Some(error.started()),
            Fate::Ended { started, .. } => Some(*started),
            Fate::Abandoned | Fate::Dropped => None,
        }
    }
}
