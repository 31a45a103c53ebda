//! What is dialed.

use ringmain_codec::InstanceId;
use ringmain_discovery::{Instance, TransportAddr};

use crate::error::{CallError, ConnectErrorKind};

/// One instance as its record says where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) instance: InstanceId,
    /// Who must answer; `None` when the id stands for an address only.
    pub(crate) expected: Option<InstanceId>,
    /// Ways to the same process, those of this host first.
    pub(crate) addresses: Vec<TransportAddr>,
}

impl Target {
    pub(crate) fn new(instance: &Instance) -> Self {
        let mut addresses = instance.addresses.clone();
        // A Unix path may be of another host: then the dial fails at once and the next is tried.
        addresses.sort_by_key(|address| !matches!(address, TransportAddr::Unix(_)));
        Self {
            instance: instance.id,
            expected: instance.expected_id(),
            addresses,
        }
    }
}

/// Why a dial led to no link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DialFailure {
    pub(crate) kind: ConnectErrorKind,
    pub(crate) message: String,
}

impl DialFailure {
    pub(crate) fn new(kind: ConnectErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn io(kind: std::io::ErrorKind, message: impl Into<String>) -> Self {
        use std::io::ErrorKind;
        let kind = match kind {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => ConnectErrorKind::Refused,
            ErrorKind::TimedOut => ConnectErrorKind::TimedOut,
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof => ConnectErrorKind::Reset,
            _ => ConnectErrorKind::Unreachable,
        };
        Self::new(kind, message)
    }

    pub(crate) fn into_error(self, instance: InstanceId) -> CallError {
        CallError::Connect {
            instance,
            kind: self.kind,
            message: self.message,
        }
    }
}
