//! Ping-pong on two cache lines: what two cores need to tell each other a number.
//!
//! Memory that two processes share needs a mapping, which safe code cannot have. Both ends are
//! therefore threads of the client process, on the CPUs of server and client; the server process
//! only says where it stays and waits. CPU time of both ends is the client's, and the server has
//! no such figure. A round trip includes one reading of the clock, which is about as long.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;

use anyhow::{Context, bail};
use ringmain_bench_harness::{Plan, Rep, Serving};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{address, ping};

/// What the caller says last.
const LEAVE: u64 = u64::MAX;
/// What an address begins with; CPUs follow.
const CPUS: &str = "cpus:";

/// A number on cache lines of its own; processors fetch them in pairs.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

#[derive(Default)]
struct Lines {
    request: Line,
    answer: Line,
}

/// Says which CPUs the server has.
pub(super) fn serve() -> anyhow::Result<Serving> {
    let cpus: Vec<String> = own_cpus()?.iter().map(usize::to_string).collect();
    Ok(Serving {
        addresses: vec![format!("{CPUS}{}", cpus.join(","))],
        broker_pid: None,
        keep: Box::new(()),
    })
}

/// Both ends.
pub(super) fn drive(plan: &Plan) -> anyhow::Result<Rep> {
    let address = address(plan)?;
    let server = cpus_in(address).with_context(|| format!("{address} names no CPUs"))?;
    let (server, client) = apart(&server, &own_cpus()?)?;
    let lines = Arc::new(Lines::default());
    let answering = Arc::clone(&lines);
    let answering = Builder::new().name("floor".to_owned()).spawn(move || {
        let outcome = stay_on(server);
        answer(&answering);
        outcome
    })?;
    let outcome = stay_on(client)
        .and_then(|()| ping::measure(plan, |number| Ok(round(&lines, number) == number)));
    lines.request.0.store(LEAVE, Ordering::Release);
    match answering.join() {
        Ok(stayed) => stayed?,
        Err(_) => bail!("the answering thread panicked"),
    }
    let mut rep = outcome?;
    for figure in ["server_ns_per_token", "server_cpu"] {
        rep.figures.remove(figure);
    }
    Ok(rep)
}

fn round(lines: &Lines, number: u64) -> u64 {
    let before = lines.answer.0.load(Ordering::Relaxed);
    lines.request.0.store(number, Ordering::Release);
    changed(&lines.answer, before)
}

fn answer(lines: &Lines) {
    let mut last = 0;
    loop {
        last = changed(&lines.request, last);
        if last == LEAVE {
            return;
        }
        lines.answer.0.store(last, Ordering::Release);
    }
}

/// Waits for another number than `last`.
fn changed(line: &Line, last: u64) -> u64 {
    loop {
        let now = line.0.load(Ordering::Acquire);
        if now != last {
            return now;
        }
        spin_loop();
    }
}

/// A CPU for each end.
fn apart(server: &[usize], client: &[usize]) -> anyhow::Result<(usize, usize)> {
    for &server in server {
        // From the other end, where both may have all of them.
        if let Some(&client) = client.iter().rev().find(|&&cpu| cpu != server) {
            return Ok((server, client));
        }
    }
    bail!(
        "shm_spin needs two CPUs, and server and client have only {server:?} and {client:?}: \
         neither end would see the other before its time slice is over"
    )
}

fn cpus_in(address: &str) -> Option<Vec<usize>> {
    let cpus = address.strip_prefix(CPUS)?.split(',');
    cpus.map(|cpu| cpu.parse().ok()).collect()
}

fn own_cpus() -> anyhow::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None).context("the allowed CPUs")?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu))
        .collect())
}

fn stay_on(cpu: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).with_context(|| format!("cannot stay on CPU {cpu}"))
}

#[cfg(test)]
mod tests {
    use super::{apart, cpus_in};

    #[test]
    fn each_end_has_a_cpu_of_its_own() {
        assert_eq!(apart(&[0], &[1]).unwrap(), (0, 1));
        assert_eq!(apart(&[0, 1], &[0]).unwrap(), (1, 0));
        assert_eq!(apart(&[0, 1], &[0, 1]).unwrap(), (0, 1));
        let error = apart(&[0], &[0]).unwrap_err().to_string();
        assert!(error.contains("two CPUs"), "{error}");
    }

    #[test]
    fn an_address_lists_cpus() {
        assert_eq!(cpus_in("cpus:0,12"), Some(vec![0, 12]));
        for address in ["cpus:", "cpus:x", "127.0.0.1:80"] {
            assert_eq!(cpus_in(address), None, "{address}");
        }
    }
}
