//! WELCOME: the acceptor's first frame (spec 5.2).

use zerocopy::byteorder::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{check, outgoing};
use crate::wire::{
    EncodeError, Extensions, FrameError, FrameKind, HEADER_BYTES, Header, Limits, Malformed,
    OutBuf, RawLimits, Reader,
};
use crate::{InstanceId, StreamId};

/// What an acceptor chose, and what it says about itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version that the connection speaks from here on.
    pub version: u16,
    /// The instance that the dialer has reached.
    pub instance: InstanceId,
    /// Feature bits that both ends can use.
    pub features: u64,
    /// What the acceptor is willing to receive.
    pub limits: Limits,
}

impl Welcome {
    const KIND: FrameKind = FrameKind::Welcome;
    const EXTENSIONS_KNOWN: &'static [u16] = &[];

    /// Reads a whole body.
    ///
    /// # Errors
    /// The rule that the frame breaks.
    pub fn parse(header: Header, body: &[u8]) -> Result<Self, FrameError> {
        check(Self::KIND, header, body)?;
        parse(body).map_err(|reason| reason.within(Self::KIND))
    }

    /// Appends the frame.
    ///
    /// # Errors
    /// No room, or a field that the receiver would refuse.
    pub fn encode(&self, out: &mut OutBuf<'_>) -> Result<(), EncodeError> {
        check_version(self.version)
            .and_then(|()| self.limits.check())
            .map_err(|reason| reason.within(Self::KIND))?;
        let fields = Fields {
            version: U16::new(self.version),
            reserved: U16::ZERO,
            instance: U64::new(self.instance.value()),
            features: U64::new(self.features),
            limits: self.limits.into(),
        };
        let header = outgoing(StreamId::CONNECTION, Self::KIND, 0, size_of::<Fields>())?;
        out.put_frame(header, [fields.as_bytes()])
    }

    /// Bytes that [`Welcome::encode`] writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        HEADER_BYTES + size_of::<Fields>()
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Fields {
    version: U16,
    reserved: U16,
    instance: U64,
    features: U64,
    limits: RawLimits,
}

const fn check_version(version: u16) -> Result<(), Malformed> {
    if version == 0 {
        Err(Malformed::Version)
    } else {
        Ok(())
    }
}

fn parse(body: &[u8]) -> Result<Welcome, Malformed> {
    let mut reader = Reader::new(body);
    let fields: &Fields = reader.fixed()?;
    check_version(fields.version.get())?;
    if fields.reserved.get() != 0 {
        return Err(Malformed::Reserved);
    }
    let instance = InstanceId::new(fields.instance.get()).ok_or(Malformed::Instance)?;
    let limits = fields.limits.parse()?;
    Extensions::parse(reader.rest(), Welcome::EXTENSIONS_KNOWN)?;
    Ok(Welcome {
        version: fields.version.get(),
        instance,
        features: fields.features.get(),
        limits,
    })
}
