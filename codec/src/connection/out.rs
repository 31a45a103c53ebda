//! What writing tells its caller.

/// What [`Connection::poll_transmit`] left behind.
///
/// [`Connection::poll_transmit`]: crate::Connection::poll_transmit
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum Transmit {
    /// Everything that may be sent now has been written.
    Drained,
    /// More would be written if the buffer had more room.
    MoreRoomNeeded,
}

/// What became of a message given to [`Connection::try_send`].
///
/// [`Connection::try_send`]: crate::Connection::try_send
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum TrySend {
    /// The whole frame is in the buffer.
    Written,
    /// Stream or connection credit is short; `Event::SendReady` follows when it is back.
    NoCredit,
    /// The buffer is full; try again with an empty one.
    NoRoom,
    /// Other data is ahead of it, or it must be cut into fragments: use [`Connection::send`].
    ///
    /// [`Connection::send`]: crate::Connection::send
    Queued,
}
