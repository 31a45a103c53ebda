//! A broker of this run alone.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Context as _;

/// How often a start is looked at, and how many times.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 250;

/// A `nats-server`, stopped when dropped.
#[derive(Debug)]
pub(crate) struct Broker {
    child: Child,
    address: SocketAddr,
}

impl Broker {
    /// Starts one on a free port of loopback; it stays on this process's core.
    pub(crate) fn start() -> anyhow::Result<Self> {
        // Free now, and nobody else here is likely to take it before the broker does.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let child = Command::new("nats-server")
            .args(["--addr", "127.0.0.1", "--port", &address.port().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start nats-server; it is in Debian's package of that name")?;
        let mut broker = Self { child, address };
        for _ in 0..LOOKS_MAX {
            if TcpStream::connect(address).is_ok() {
                return Ok(broker);
            }
            if let Some(status) = broker.child.try_wait()? {
                anyhow::bail!("nats-server ended at once: {status}");
            }
            sleep(LOOK_EVERY);
        }
        anyhow::bail!("nats-server does not answer")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
