//! The floors: bytes on a socket or in memory, without a protocol, an executor or a caller.
//!
//! They say what a host can do at all, so that a figure of the plane reads as a multiple of it.
//! Each is one loop for each end, started by the same orchestrator and measured between the same
//! two meter readings as any system.
//!
//! | name | ends | what comes back |
//! |---|---|---|
//! | `tcp_spin`, `uds_spin` | a thread of each process, reading in a busy loop | the request's number |
//! | `tcp_block`, `uds_block` | the same, asleep in `read` | the same |
//! | `shm_spin` | two threads of the client process; the server only waits | a number |
//! | `bare_mux` | a thread that sleeps, a thread that reads | the items of a paced load |

use std::sync::Arc;

use anyhow::bail;
use ringmain_bench_harness::{
    ConnectArgs, Counts, Launcher, Plan, Rep, ServeArgs, Serving, System, float,
};

mod memory;
mod mux;
mod ping;
mod socket;

/// One floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Floor {
    /// Ping-pong on sockets of one family.
    Socket(socket::Family, socket::Reading),
    /// Ping-pong on two cache lines.
    Memory,
    /// The items of many streams on one socket.
    Mux,
}

/// The floor of that name.
pub(crate) fn find(name: &str) -> Option<Floor> {
    use socket::{Family, Reading};
    Some(match name {
        "tcp_spin" => Floor::Socket(Family::Tcp, Reading::Busy),
        "tcp_block" => Floor::Socket(Family::Tcp, Reading::Asleep),
        "uds_spin" => Floor::Socket(Family::Unix, Reading::Busy),
        "uds_block" => Floor::Socket(Family::Unix, Reading::Asleep),
        "shm_spin" => Floor::Memory,
        "bare_mux" => Floor::Mux,
        _ => return None,
    })
}

impl System for Floor {
    fn serve(&self, args: &ServeArgs) -> anyhow::Result<Serving> {
        if let Some(option) = args.set.first() {
            bail!("a floor has no options, {option} among them");
        }
        if args.instances != 1 || args.upstream.is_some() {
            bail!("a floor is one process that passes nothing on");
        }
        match *self {
            Self::Socket(family, reading) => socket::serve(family, reading),
            Self::Memory => memory::serve(),
            Self::Mux => mux::serve(),
        }
    }

    fn connect(&self, _: &ConnectArgs) -> anyhow::Result<Arc<dyn Launcher>> {
        bail!("a floor has no calls")
    }

    fn drive(&self, plan: &Plan) -> anyhow::Result<Rep> {
        match *self {
            Self::Socket(family, reading) => socket::drive(plan, family, reading),
            Self::Memory => memory::drive(plan),
            Self::Mux => mux::drive(plan),
        }
    }
}

/// The figures that tell whether the work was as asked. A floor that fails gives none at all.
fn set_totals(rep: &mut Rep, total: Counts, wrong: u64) {
    rep.set("total_tokens", float(total.items));
    rep.set("total_calls", float(total.calls));
    rep.set("failed", 0.0);
    rep.set("wrong", float(wrong));
}

/// The address of the only server.
fn address(plan: &Plan) -> anyhow::Result<&str> {
    match plan.connect.addresses.as_slice() {
        [address] => Ok(address),
        others => bail!("a floor has one address, not {}", others.len()),
    }
}
