//! PING and PONG: is the other end there, and how far away (spec 8.1).

use super::{check, outgoing};
use crate::StreamId;
use crate::wire::{EncodeError, FrameError, FrameKind, HEADER_BYTES, Header, OutBuf, Reader};

macro_rules! echo {
    ($name:ident $kind:ident $doc:literal) => {
        #[doc = $doc]
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            /// Chosen by whoever asks; the answer carries the same.
            pub payload: u64,
        }

        impl $name {
            const KIND: FrameKind = FrameKind::$kind;

            /// Reads a whole body.
            ///
            /// # Errors
            /// The rule that the frame breaks.
            pub fn parse(header: Header, body: &[u8]) -> Result<Self, FrameError> {
                check(Self::KIND, header, body)?;
                let mut reader = Reader::new(body);
                let payload: &[u8; 8] =
                    reader.fixed().map_err(|reason| reason.within(Self::KIND))?;
                reader
                    .finish()
                    .map_err(|reason| reason.within(Self::KIND))?;
                Ok(Self {
                    payload: u64::from_le_bytes(*payload),
                })
            }

            /// Appends the frame.
            ///
            /// # Errors
            /// No room.
            pub fn encode(&self, out: &mut OutBuf<'_>) -> Result<(), EncodeError> {
                let header = outgoing(StreamId::CONNECTION, Self::KIND, 0, size_of::<u64>())?;
                out.put_frame(header, [&self.payload.to_le_bytes()])
            }

            /// Bytes that `encode` writes.
            #[must_use]
            pub const fn encoded_len(&self) -> usize {
                HEADER_BYTES + size_of::<u64>()
            }
        }
    };
}

echo!(Ping Ping "Asks for a PONG.");
echo!(Pong Pong "Answers a PING.");
