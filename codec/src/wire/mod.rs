//! What all frames share: the header, checked reading, bounded writing, limits.

mod error;
mod extensions;
mod header;
mod limits;
mod metadata;
mod out_buf;
mod preamble;
mod reader;

pub use error::{EncodeError, FrameError, Malformed};
pub use extensions::{Extensions, ExtensionsIter};
pub use header::{FrameKind, HEADER_BYTES, Header};
pub use limits::{
    CONTROL_BODY_BYTES_MAX, CONTROL_FRAME_BYTES_MAX, CREDIT_BYTES_MIN, DATA_FRAME_COST_BYTES,
    DATA_TOTAL_BYTES, EXTENSIONS_BYTES_MAX, EXTENSIONS_MAX, FRAGMENT_BYTES_MAX, FRAGMENT_BYTES_MIN,
    Limits, METADATA_BYTES_MAX, METADATA_KEY_BYTES_MAX, METADATA_PAIRS_MAX, TEXT_BYTES_MAX,
    WINDOW_BYTES_MAX, WINDOW_BYTES_MIN,
};
pub use metadata::{Metadata, MetadataIter};
pub use out_buf::OutBuf;
pub use preamble::{LooksLike, Preamble, inspect_hello, inspect_reply};

pub(crate) use limits::RawLimits;
pub(crate) use reader::Reader;
