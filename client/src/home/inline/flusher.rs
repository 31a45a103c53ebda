//! The task that writes a link's output.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use ringmain_shard::LinkDown;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::futures::Notified;

use super::link::{LinkRef, Output};

/// How long a link that is down may take to write its last words.
const LINGER: Duration = Duration::from_secs(2);

/// Writes until the link is down, or closed because nothing is left to do on it. A peer that does
/// not read holds it no longer than the link lives.
pub(super) async fn run(link: LinkRef, mut writer: impl AsyncWrite + Unpin) {
    let (flush, _) = link.notify();
    let mut gone = pin!(link.gone().notified());
    gone.as_mut().enable();
    while !link.is_down() {
        flush.notified().await;
        // Whoever is ready now adds to the same write.
        tokio::task::yield_now().await;
        loop {
            match link.poll_send() {
                Output::Nothing | Output::Down => break,
                Output::Close => {
                    // Everything was written; the peer may be gone already.
                    drop(tokio::time::timeout(LINGER, writer.shutdown()).await);
                    return link.take_down(&LinkDown::Local);
                }
                Output::Write(buf) => {
                    let result = write(&mut writer, &buf, gone.as_mut()).await;
                    link.sent(buf);
                    match result {
                        Some(Ok(())) => {}
                        Some(Err(error)) => {
                            return link.take_down(&LinkDown::Transport(error.kind()));
                        }
                        // Half a frame may be out: nothing can follow it.
                        None => return,
                    }
                }
            }
        }
    }
    if let Output::Write(buf) = link.poll_send() {
        // A goodbye: whether it arrives changes nothing here.
        drop(tokio::time::timeout(LINGER, writer.write_all(&buf)).await);
    }
}

/// Writes all of it; `None` when the link went down first.
async fn write(
    writer: &mut (impl AsyncWrite + Unpin),
    buf: &[u8],
    mut gone: Pin<&mut Notified<'_>>,
) -> Option<io::Result<()>> {
    let mut writing = pin!(writer.write_all(buf));
    poll_fn(|cx| {
        if let Poll::Ready(result) = writing.as_mut().poll(cx) {
            return Poll::Ready(Some(result));
        }
        gone.as_mut().poll(cx).map(|()| None)
    })
    .await
}
