//! Consumers that take pieces straight from the receive buffer.

use super::pieces::PieceRef;

/// How much of an offered piece was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// All of it.
    All,
    /// So many bytes from its start, fewer than it has; 0 also for an empty piece. The rest waits.
    Part(usize),
}

/// Takes a response's pieces as they arrive, on the shard that received them.
///
/// Called while the bytes are still in the receive buffer and the response's link is in use: it
/// must not use the client that it was given to. Bytes taken return their credit at once.
pub trait Forward {
    /// Offers the next piece. Not called while an earlier piece waits, so nothing is overtaken.
    fn offer(&self, piece: PieceRef<'_>) -> Offered;

    /// So many bytes were copied aside and wait until
    /// [`ForwardCall::offer_waiting`](crate::ForwardCall::offer_waiting) moves them.
    fn kept(&self, bytes: usize);
}

/// What a home keeps with each stream.
pub(crate) trait Attachment {
    /// Who is offered pieces before they are put aside.
    fn forward(&self) -> Option<&dyn Forward> {
        None
    }
}

impl Attachment for () {}
