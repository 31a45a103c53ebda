//! glommio: an executor per thread, with rings of its own.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_lite::io::{AsyncRead as _, AsyncWrite as _};
use glommio::net::{TcpListener, TcpStream};
use glommio::{LocalExecutorBuilder, Placement};
use ringmain_bench_harness::{Timer, now_ns};

use crate::reactor::Reactor;
use crate::server;

/// Starts the server's thread; where it listens.
pub(crate) fn start() -> anyhow::Result<SocketAddr> {
    let (sender, address) = channel();
    // The process is on its core already.
    LocalExecutorBuilder::new(Placement::Unbound)
        .name("glommio")
        .spawn(move || accept(sender))
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(address.recv()?)
}

async fn accept(address: Sender<SocketAddr>) -> glommio::Result<(), ()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    // Whoever asked waits for it.
    address.send(listener.local_addr()?).ok();
    loop {
        let socket = listener.accept().await?;
        socket.set_nodelay(true)?;
        let socket = Rc::new(RefCell::new(socket));
        Glommio::spawn(server::serve_connection::<Glommio>(socket));
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Glommio;

impl Reactor for Glommio {
    /// Shared by its reader and its writer, which borrow it only within a poll.
    type Socket = RefCell<TcpStream>;
    type Timer = GlommioTimer;

    const TIMER: GlommioTimer = GlommioTimer;

    fn spawn(task: impl Future<Output = ()> + 'static) {
        // A task that nobody waits for: its handle is of no use.
        drop(glommio::spawn_local(task).detach());
    }

    async fn yield_now() {
        glommio::executor().yield_now().await;
    }

    async fn read(
        socket: &RefCell<TcpStream>,
        mut buffer: Vec<u8>,
    ) -> (io::Result<usize>, Vec<u8>) {
        let read = poll_fn(|cx| Pin::new(&mut *socket.borrow_mut()).poll_read(cx, &mut buffer));
        (read.await, buffer)
    }

    async fn write_all(socket: &RefCell<TcpStream>, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        let mut written = 0;
        let outcome = poll_fn(|cx| {
            while written < buffer.len() {
                let mut socket = socket.borrow_mut();
                let write = Pin::new(&mut *socket).poll_write(cx, &buffer[written..]);
                match ready!(write) {
                    Ok(len) => written += len,
                    Err(error) => return Err(error).into(),
                }
            }
            Ok(()).into()
        });
        (outcome.await, buffer)
    }
}

/// Timers of glommio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlommioTimer;

impl Timer for GlommioTimer {
    type Sleep = Sleep;

    fn sleep_until(&self, at_ns: u64) -> Sleep {
        let left = Duration::from_nanos(at_ns.saturating_sub(now_ns()));
        Sleep(glommio::timer::Timer::new(left))
    }
}

/// Sleeping, with nothing to tell at its end.
#[derive(Debug)]
pub(crate) struct Sleep(glommio::timer::Timer);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}
