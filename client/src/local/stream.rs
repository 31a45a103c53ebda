//! Response streams read on the shard that has their link.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::{InstanceId, RequestId, Started};
use ringmain_shard::ShardCtx;

use crate::calls::{Piece, PieceRef, StreamKey, Terminal};
use crate::driver::Opened;
use crate::end::EndInfo;
use crate::error::StreamError;
use crate::home::shards::LocalLink;

/// What the two kinds of streams have in common.
pub(super) struct Reader {
    pub(super) ctx: ShardCtx,
    pub(super) link: LocalLink,
    pub(super) key: StreamKey,
    pub(super) instance: InstanceId,
    request_id: RequestId,
    end: Option<Terminal>,
}

impl Reader {
    pub(super) fn new(ctx: ShardCtx, opened: Opened<LocalLink>, request_id: RequestId) -> Self {
        let Opened {
            link,
            stream,
            instance,
        } = opened;
        Self {
            ctx,
            link,
            key: stream,
            instance,
            request_id,
            end: None,
        }
    }

    pub(super) fn give_back(&self, credit: u32) {
        if credit > 0 {
            self.link.with(&self.ctx, |calls, link| {
                calls.give_back(self.key, link, credit)
            });
        }
    }

    pub(super) fn stop(&self) {
        self.link
            .with(&self.ctx, |calls, link| calls.stop(self.key, link));
    }

    fn kill(&self) {
        self.link
            .with(&self.ctx, |calls, link| calls.kill(self.key, link));
    }

    /// Nothing is left to read: the end, or the wait for more.
    fn poll_end<T>(&mut self, cx: &Context<'_>) -> Poll<Option<Result<T, StreamError>>> {
        let polled = self.link.calls().borrow_mut().poll_end::<()>(self.key, cx);
        match polled {
            Poll::Ready(Err(end)) => {
                let error = end.error(self.instance);
                self.end = Some(end);
                Poll::Ready(error.map(Err))
            }
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.link.release(&self.ctx, self.key);
    }
}

macro_rules! common {
    ($stream:ident) => {
        impl $stream {
            pub(crate) fn new(
                ctx: ShardCtx,
                opened: Opened<LocalLink>,
                request_id: RequestId,
            ) -> Self {
                Self(Reader::new(ctx, opened, request_id))
            }

            /// Asks the responder to finish early; see
            /// [`ResponseStream::stop`](crate::ResponseStream::stop).
            pub fn stop(&self) {
                self.0.stop();
            }

            /// Drops the stream at the responder now; see
            /// [`ResponseStream::kill`](crate::ResponseStream::kill).
            pub fn kill(&self) {
                self.0.kill();
            }

            /// Who answers.
            pub const fn instance(&self) -> InstanceId {
                self.0.instance
            }

            /// The request's id across hops.
            pub const fn request_id(&self) -> RequestId {
                self.0.request_id
            }

            /// Whether the handler was called.
            pub fn started(&self) -> Started {
                self.0.end.as_ref().map_or(Started::Yes, |end| end.started)
            }

            /// How the stream ended; `None` until its last item was taken.
            pub fn end(&self) -> Option<&EndInfo> {
                self.0.end.as_ref().map(|end| &end.info)
            }
        }

        impl std::fmt::Debug for $stream {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($stream))
                    .field("instance", &self.0.instance)
                    .field("request_id", &self.0.request_id)
                    .finish_non_exhaustive()
            }
        }
    };
}

/// The messages of one response on this shard, then its end. Dropping it drops the stream at the
/// responder (KILL), unless it has ended.
pub struct LocalStream(Reader);

/// The pieces of one response on this shard, as they arrive, then its end.
///
/// Credit goes back to the responder only as pieces are taken. Dropping it drops the stream at
/// the responder (KILL), unless it has ended.
pub struct PieceStream(Reader);

common!(LocalStream);
common!(PieceStream);

impl LocalStream {
    /// The next message, or how the stream ended badly; `None` at its end. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Bytes, StreamError>> {
        poll_fn(|cx| {
            let popped = self.0.link.calls().borrow_mut().pop(self.0.key);
            match popped {
                Some(message) => {
                    self.0.give_back(message.credit);
                    Poll::Ready(Some(Ok(message.bytes)))
                }
                None => self.poll_end(cx),
            }
        })
        .await
    }

    /// Shows the next message in place: no allocation, no copy. `read` must not use this stream's
    /// client. Cancel-safe.
    pub async fn next_with<R>(
        &mut self,
        mut read: impl FnMut(&[u8]) -> R,
    ) -> Option<Result<R, StreamError>> {
        poll_fn(|cx| self.poll_next_with(cx, &mut read)).await
    }

    /// [`next_with`](Self::next_with) for hand-written futures.
    pub fn poll_next_with<R>(
        &mut self,
        cx: &Context<'_>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, StreamError>>> {
        let popped = self.0.link.calls().borrow_mut().pop_with(self.0.key, read);
        match popped {
            Some((result, credit)) => {
                self.0.give_back(credit);
                Poll::Ready(Some(Ok(result)))
            }
            None => self.poll_end(cx),
        }
    }

    fn poll_end<T>(&mut self, cx: &Context<'_>) -> Poll<Option<Result<T, StreamError>>> {
        if self.0.end.is_some() {
            Poll::Ready(None)
        } else {
            self.0.poll_end(cx)
        }
    }
}

impl PieceStream {
    /// The next piece, or how the stream ended badly; `None` at its end. Cancel-safe.
    pub async fn next_piece(&mut self) -> Option<Result<Piece, StreamError>> {
        poll_fn(|cx| {
            let popped = self.0.link.calls().borrow_mut().pop_piece(self.0.key);
            match popped {
                Some((piece, credit)) => {
                    self.0.give_back(credit);
                    Poll::Ready(Some(Ok(piece)))
                }
                None => self.poll_end(cx),
            }
        })
        .await
    }

    /// Offers the next piece in place; it is taken, and its credit returned, only if `take` says
    /// so. `Ready(Some(Ok(false)))`: it was not taken, and no waker was kept. `take` must not use
    /// this stream's client.
    pub fn poll_piece_with(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(PieceRef<'_>) -> bool,
    ) -> Poll<Option<Result<bool, StreamError>>> {
        let offered = self
            .0
            .link
            .calls()
            .borrow_mut()
            .pop_piece_if(self.0.key, |bytes, meta| take(meta.piece(bytes)));
        match offered {
            Some(taken) => {
                self.0.give_back(taken.unwrap_or(0));
                Poll::Ready(Some(Ok(taken.is_some())))
            }
            None => self.poll_end(cx),
        }
    }

    fn poll_end<T>(&mut self, cx: &Context<'_>) -> Poll<Option<Result<T, StreamError>>> {
        if self.0.end.is_some() {
            Poll::Ready(None)
        } else {
            self.0.poll_end(cx)
        }
    }
}
