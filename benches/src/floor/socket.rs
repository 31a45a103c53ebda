//! Ping-pong between two processes, on loopback TCP or a Unix socket.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread::Builder;

use anyhow::Context;
use ringmain_bench_harness::{Plan, Rep, Serving};

use super::{address, ping};

/// Which sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Loopback TCP without Nagle's delay.
    Tcp,
    /// Stream sockets with a path.
    Unix,
}

/// How both ends wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Reads that return at once, in a busy loop.
    Busy,
    /// Reads that sleep until there is something.
    Asleep,
}

/// Removes a socket's file when the server is over.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        // Gone already is what is wanted.
        std::fs::remove_file(&self.0).ok();
    }
}

/// Starts a server: one thread, for one connection after the other.
pub(super) fn serve(family: Family, reading: Reading) -> anyhow::Result<Serving> {
    let thread = Builder::new().name("floor".to_owned());
    match family {
        Family::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
            let address = listener.local_addr()?.to_string();
            thread.spawn(move || {
                for stream in listener.incoming() {
                    answer(stream.and_then(|stream| tcp(stream, reading)));
                }
            })?;
            Ok(serving(address, ()))
        }
        Family::Unix => {
            let name = format!("ringmain-bench-{}.sock", std::process::id());
            let file = File(std::env::temp_dir().join(name));
            // One that was left by a process of the same number, which was killed.
            std::fs::remove_file(&file.0).ok();
            let listener = UnixListener::bind(&file.0)
                .with_context(|| format!("cannot listen on {}", file.0.display()))?;
            let address = file.0.display().to_string();
            thread.spawn(move || {
                for stream in listener.incoming() {
                    answer(stream.and_then(|stream| unix(stream, reading)));
                }
            })?;
            Ok(serving(address, file))
        }
    }
}

fn serving(address: String, keep: impl std::any::Any) -> Serving {
    Serving {
        addresses: vec![address],
        broker_pid: None,
        keep: Box::new(keep),
    }
}

/// The client's end.
pub(super) fn drive(plan: &Plan, family: Family, reading: Reading) -> anyhow::Result<Rep> {
    let address = address(plan)?;
    let cannot = || format!("cannot connect to {address}");
    match family {
        Family::Tcp => {
            let stream = TcpStream::connect(address).with_context(cannot)?;
            ping_pong(plan, tcp(stream, reading)?)
        }
        Family::Unix => {
            let stream = UnixStream::connect(address).with_context(cannot)?;
            let mut rep = ping_pong(plan, unix(stream, reading)?)?;
            // The meters count none of these: other systems have them for their own signals.
            rep.set("connections", 1.0);
            Ok(rep)
        }
    }
}

fn ping_pong(plan: &Plan, stream: impl Read + Write) -> anyhow::Result<Rep> {
    let mut caller = ping::Caller::new(stream, plan)?;
    ping::measure(plan, |number| caller.round(number))
}

fn answer(stream: io::Result<impl Read + Write>) {
    // A caller that leaves ends in an error too, and a broken one tells in its own process.
    stream.and_then(ping::answer).ok();
}

fn tcp(stream: TcpStream, reading: Reading) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(reading == Reading::Busy)?;
    Ok(stream)
}

fn unix(stream: UnixStream, reading: Reading) -> io::Result<UnixStream> {
    stream.set_nonblocking(reading == Reading::Busy)?;
    Ok(stream)
}
