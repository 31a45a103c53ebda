//! The messages, written by hand as the code generator would, so that no `protoc` is needed.

use bytes::Bytes;

/// The method's path.
pub(crate) const PATH: &str = "/ringmain.bench.Engine/Generate";

/// What either end accepts; tonic's own limit is 4 MiB.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// `message Call { bytes data = 1; }`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Call {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) data: Bytes,
}

/// `message Item { bytes data = 1; }`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Item {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) data: Bytes,
}
