//! ACCEPT, STOP and KILL: frames that say all by their kind (spec 6.6 and 6.7).

use super::{check, outgoing};
use crate::StreamId;
use crate::wire::{EncodeError, FrameError, FrameKind, HEADER_BYTES, Header, OutBuf};

macro_rules! signal {
    ($name:ident $doc:literal) => {
        #[doc = $doc]
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub struct $name;

        impl $name {
            const KIND: FrameKind = FrameKind::$name;

            /// Reads a whole body, which is empty.
            ///
            /// # Errors
            /// The rule that the frame breaks.
            pub fn parse(header: Header, body: &[u8]) -> Result<Self, FrameError> {
                check(Self::KIND, header, body)?;
                Ok(Self)
            }

            /// Appends the frame.
            ///
            /// # Errors
            /// No room.
            pub fn encode(
                &self,
                stream: StreamId,
                out: &mut OutBuf<'_>,
            ) -> Result<(), EncodeError> {
                let header = outgoing(stream, Self::KIND, 0, 0)?;
                out.put_frame(header, [])
            }

            /// Bytes that `encode` writes.
            #[must_use]
            pub const fn encoded_len(&self) -> usize {
                HEADER_BYTES
            }
        }
    };
}

signal!(Accept "The handler was called.");
signal!(Stop "Finish early: deliver what is left and the trailers.");
signal!(Kill "Drop everything now.");
