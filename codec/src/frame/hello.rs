//! HELLO: the dialer's first frame (spec 5.1).

use zerocopy::byteorder::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{check, outgoing};
use crate::StreamId;
use crate::wire::{
    EncodeError, Extensions, FrameError, FrameKind, HEADER_BYTES, Header, Limits, Malformed,
    OutBuf, RawLimits, Reader,
};

/// What a dialer says about itself and about the instance that it wants.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Lowest protocol version that the dialer speaks; at least 1.
    pub version_min: u16,
    /// Highest protocol version that the dialer speaks.
    pub version_max: u16,
    /// The instance that the dialer expects to reach; 0 = any.
    pub expected_instance: u64,
    /// Feature bits that the dialer can use.
    pub features: u64,
    /// What the dialer is willing to receive.
    pub limits: Limits,
}

impl Hello {
    /// The first bytes of the body.
    pub const MAGIC: [u8; 4] = *b"RING";

    const KIND: FrameKind = FrameKind::Hello;
    const EXTENSIONS_KNOWN: &'static [u16] = &[];

    /// The version range of a HELLO of any version: the part of the body that never changes. Lets
    /// an acceptor refuse a version whose other fields it cannot read.
    ///
    /// # Errors
    /// When magic or range are wrong.
    pub fn versions(body: &[u8]) -> Result<(u16, u16), FrameError> {
        versions(&mut Reader::new(body)).map_err(|reason| reason.within(Self::KIND))
    }

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
        check_versions(self.version_min, self.version_max)
            .and_then(|()| self.limits.check())
            .map_err(|reason| reason.within(Self::KIND))?;
        let frozen = Frozen {
            magic: Self::MAGIC,
            version_min: U16::new(self.version_min),
            version_max: U16::new(self.version_max),
        };
        let fields = Fields {
            expected_instance: U64::new(self.expected_instance),
            features: U64::new(self.features),
            limits: self.limits.into(),
        };
        let header = outgoing(
            StreamId::CONNECTION,
            Self::KIND,
            0,
            self.encoded_len() - HEADER_BYTES,
        )?;
        out.put_frame(header, [frozen.as_bytes(), fields.as_bytes()])
    }

    /// Bytes that [`Hello::encode`] writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        HEADER_BYTES + size_of::<Frozen>() + size_of::<Fields>()
    }
}

/// The same in every version, together with the header before it.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Frozen {
    magic: [u8; 4],
    version_min: U16,
    version_max: U16,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Fields {
    expected_instance: U64,
    features: U64,
    limits: RawLimits,
}

fn versions(reader: &mut Reader<'_>) -> Result<(u16, u16), Malformed> {
    let frozen: &Frozen = reader.fixed()?;
    if frozen.magic != Hello::MAGIC {
        return Err(Malformed::Magic);
    }
    let (min, max) = (frozen.version_min.get(), frozen.version_max.get());
    check_versions(min, max)?;
    Ok((min, max))
}

const fn check_versions(min: u16, max: u16) -> Result<(), Malformed> {
    if min == 0 || min > max {
        Err(Malformed::Version)
    } else {
        Ok(())
    }
}

fn parse(body: &[u8]) -> Result<Hello, Malformed> {
    let mut reader = Reader::new(body);
    let (version_min, version_max) = versions(&mut reader)?;
    let fields: &Fields = reader.fixed()?;
    let limits = fields.limits.parse()?;
    Extensions::parse(reader.rest(), Hello::EXTENSIONS_KNOWN)?;
    Ok(Hello {
        version_min,
        version_max,
        expected_instance: fields.expected_instance.get(),
        features: fields.features.get(),
        limits,
    })
}
