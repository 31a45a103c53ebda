//! tokio-uring: tokio's executor on one thread, with a ring beside its epoll.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::{io, thread};

use peer_host::TokioTimer;
use tokio_uring::net::TcpStream;

use crate::reactor::Reactor;
use crate::server;

/// Starts the server's thread; where it listens.
pub(crate) fn start() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::Builder::new()
        .name("tokio-uring".to_owned())
        .spawn(move || {
            let mut ring = tokio_uring::uring_builder();
            // Without it every completion interrupts the thread: twice the time per request.
            ring.setup_coop_taskrun();
            tokio_uring::builder()
                .uring_builder(&ring)
                .start(accept(listener))
        })?;
    Ok(address)
}

async fn accept(listener: TcpListener) -> io::Result<()> {
    let listener = tokio_uring::net::TcpListener::from_std(listener);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        TokioUring::spawn(server::serve_connection::<TokioUring>(Rc::new(socket)));
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TokioUring;

impl Reactor for TokioUring {
    type Socket = TcpStream;
    type Timer = TokioTimer;

    const TIMER: TokioTimer = TokioTimer;

    fn spawn(task: impl Future<Output = ()> + 'static) {
        // A task that nobody waits for: its handle is of no use.
        drop(tokio_uring::spawn(task));
    }

    async fn yield_now() {
        tokio::task::yield_now().await;
    }

    async fn read(socket: &TcpStream, buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        socket.read(buffer).await
    }

    async fn write_all(socket: &TcpStream, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        socket.write_all(buffer).await
    }
}
