//! The task that feeds a link.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use ringmain_shard::LinkDown;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Sleep;

use super::link::LinkRef;
use super::now;

/// Bytes read at a time, at most.
const READ_BYTES: usize = 64 * 1024;
/// How far a timer is set when nothing is due.
const FAR: Duration = Duration::from_secs(3600);

enum Wake {
    Read(io::Result<usize>),
    Timer,
    Rearm,
}

/// Reads until the link is down. Dropping it (the runtime ends) takes the link down, too.
pub(super) async fn run(link: LinkRef, mut reader: impl AsyncRead + Unpin) {
    let guard = TakeDown(link);
    let link = &guard.0;
    let (_, rearm) = link.notify();
    let mut buf = vec![0; READ_BYTES];
    let mut wakers = Vec::new();
    let mut armed = now() + FAR;
    let mut sleep = pin!(tokio::time::sleep_until(armed.into()));
    let mut notified = pin!(rearm.notified());
    let Some(mut due) = link.due() else { return };
    loop {
        set(sleep.as_mut(), &mut armed, due);
        let wake = next(
            &mut reader,
            &mut buf,
            sleep.as_mut(),
            notified.as_mut(),
            rearm,
        )
        .await;
        let looked = match wake {
            Wake::Read(Ok(0)) => return link.take_down(&LinkDown::Eof),
            Wake::Read(Ok(len)) => link.received(&buf[..len], &mut wakers),
            Wake::Read(Err(error)) => return link.take_down(&LinkDown::Transport(error.kind())),
            Wake::Timer => link.timed_out(&mut wakers),
            Wake::Rearm => match link.due() {
                Some(due) => Ok(due),
                None => return,
            },
        };
        match looked {
            Ok(next) => due = next,
            Err(error) => return link.take_down(&LinkDown::Protocol(error)),
        }
    }
}

/// Sets the timer if it would fire too late, or has fired.
fn set(sleep: Pin<&mut Sleep>, armed: &mut Instant, due: Option<Instant>) {
    let due = due.unwrap_or_else(|| now() + FAR);
    if due < *armed || sleep.is_elapsed() {
        *armed = due;
        sleep.reset(due.into());
    }
}

/// Waits for whatever comes first.
async fn next<'a>(
    reader: &mut (impl AsyncRead + Unpin),
    buf: &mut [u8],
    mut sleep: Pin<&mut Sleep>,
    mut notified: Pin<&mut Notified<'a>>,
    rearm: &'a Notify,
) -> Wake {
    poll_fn(|cx| {
        if notified.as_mut().poll(cx).is_ready() {
            notified.set(rearm.notified());
            return Poll::Ready(Wake::Rearm);
        }
        let mut read = ReadBuf::new(buf);
        if let Poll::Ready(result) = Pin::new(&mut *reader).poll_read(cx, &mut read) {
            return Poll::Ready(Wake::Read(result.map(|()| read.filled().len())));
        }
        if sleep.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Wake::Timer);
        }
        Poll::Pending
    })
    .await
}

/// However the task ends, the link's streams learn of it.
struct TakeDown(LinkRef);

impl Drop for TakeDown {
    fn drop(&mut self) {
        self.0.take_down(&LinkDown::Local);
    }
}
