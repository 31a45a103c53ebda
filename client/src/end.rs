//! How a stream ended, as its responder said.

use ringmain_codec::{Metadata, Status};

/// The terminal of a response stream: status, text, and the handler's own pairs (a usage record,
/// for example).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndInfo {
    pub(crate) status: Status,
    pub(crate) message: String,
    /// Checked and encoded pairs.
    pub(crate) trailers: Vec<u8>,
}

impl EndInfo {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            trailers: Vec::new(),
        }
    }

    /// How it ended.
    pub const fn status(&self) -> Status {
        self.status
    }

    /// Text for people; may be empty.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The handler's pairs, in its order.
    pub fn trailers(&self) -> Metadata<'_> {
        Metadata::parse(&self.trailers).unwrap_or_default()
    }
}
