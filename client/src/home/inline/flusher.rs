//! The task that writes a link's output.

use ringmain_shard::LinkDown;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::link::{LinkRef, Output};

/// Writes until the link is down, or closed because nothing is left to do on it.
pub(super) async fn run(link: LinkRef, mut writer: impl AsyncWrite + Unpin) {
    let (flush, _) = link.notify();
    loop {
        flush.notified().await;
        // Whoever is ready now adds to the same write.
        tokio::task::yield_now().await;
        loop {
            match link.poll_send() {
                Output::Nothing => break,
                Output::Down => return,
                Output::Close => {
                    if let Err(error) = writer.shutdown().await {
                        tracing::debug!(%error, "link.shutdown");
                    }
                    return link.take_down(&LinkDown::Local);
                }
                Output::Write(buf) => {
                    let result = writer.write_all(&buf).await;
                    link.sent(buf);
                    if let Err(error) = result {
                        return link.take_down(&LinkDown::Transport(error.kind()));
                    }
                }
            }
        }
    }
}
