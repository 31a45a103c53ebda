//! What is sent: one byte string each, msgpack on the wire.

use dynamo_runtime::error::DynamoError;
use dynamo_runtime::protocols::maybe_error::MaybeError;
use serde::{Deserialize, Serialize};

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    #[serde(with = "serde_bytes")]
    pub(crate) data: Vec<u8>,
}

/// An item; an empty one stands for an error, as no producer makes one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    #[serde(with = "serde_bytes")]
    pub(crate) data: Vec<u8>,
}

impl MaybeError for Item {
    fn from_err(_: impl std::error::Error + 'static) -> Self {
        Self { data: Vec::new() }
    }

    fn err(&self) -> Option<DynamoError> {
        self.data
            .is_empty()
            .then(|| DynamoError::msg("the response stream failed"))
    }
}
