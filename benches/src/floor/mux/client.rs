//! The client: one thread that reads, while another opens and closes the window.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, scope, sleep};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use ringmain_bench_harness::{Counts, Latency, Plan, Rep, Window, now_ns};

use super::ask::Ask;
use super::frame::{FRAME_BYTES_MAX, split};
use super::tally::Tally;
use crate::floor::{address, set_totals};

/// Time from the request to the first stream, as a paced load of the harness has it.
const LEAD_NS: u64 = 20_000_000;
/// Longest time without an item; streams of the longest interval have more of them.
const QUIET_MAX: Duration = Duration::from_secs(30);
/// Bytes of one read: more than a step of a thousand streams.
const BUFFER_BYTES: usize = 256 * 1024;
const _: () = assert!(BUFFER_BYTES > FRAME_BYTES_MAX);

/// What the reading thread shares with the measuring one.
#[derive(Default)]
struct Shared {
    measuring: AtomicBool,
    items: AtomicU64,
    bytes: AtomicU64,
}

impl Shared {
    fn counts(&self) -> Counts {
        Counts {
            items: self.items.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            calls: 0,
        }
    }
}

/// Asks for the items of `plan` and takes their times.
pub(in crate::floor) fn drive(plan: &Plan) -> anyhow::Result<Rep> {
    let address = address(plan)?;
    let mut stream =
        TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(QUIET_MAX))?;
    let ask = Ask::new(plan, now_ns() + LEAD_NS)?;
    stream.write_all(&ask.encode())?;
    let shared = Shared::default();
    let (mut rep, tally) = scope(|scope| {
        let thread = Builder::new().name("reader".to_owned());
        let reader = thread.spawn_scoped(scope, || read(&stream, &ask, &shared))?;
        sleep(Duration::from_millis(plan.warm_up_ms));
        let window = Window::open(plan, || shared.counts(), None);
        shared.measuring.store(true, Ordering::Relaxed);
        sleep(Duration::from_millis(plan.window_ms));
        shared.measuring.store(false, Ordering::Relaxed);
        let rep = window.close(|| shared.counts(), None);
        match reader.join() {
            Ok(tally) => Ok((rep, tally?)),
            Err(_) => bail!("the reading thread panicked"),
        }
    })?;
    if !plan.traced {
        rep.set_histogram(Latency::Main.name(), &tally.latency);
        rep.set_histogram(Latency::Produced.name(), &tally.produced);
    }
    let total = Counts {
        calls: tally.ended(),
        ..shared.counts()
    };
    set_totals(&mut rep, total, tally.wrong);
    Ok(rep)
}

/// Reads until every item has come.
fn read(mut stream: &TcpStream, ask: &Ask, shared: &Shared) -> anyhow::Result<Tally> {
    let mut tally = Tally::new(ask);
    let total = ask.total();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut filled = 0;
    while tally.items < total {
        let count = match stream.read(&mut buffer[filled..]) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("while items were due"),
        };
        ensure!(count > 0, "the server left while items were due");
        // All that one read brings has arrived by now.
        let now = now_ns();
        let measured = shared.measuring.load(Ordering::Relaxed);
        filled += count;
        let mut rest = &buffer[..filled];
        let (before, mut bytes) = (tally.items, 0);
        while let Some((frame, after)) = split(rest) {
            tally.add(frame, now, measured);
            bytes += frame.item.len() as u64;
            rest = after;
        }
        let items = tally.items - before;
        shared.items.fetch_add(items, Ordering::Relaxed);
        shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        let left = rest.len();
        buffer.copy_within(filled - left..filled, 0);
        filled = left;
    }
    Ok(tally)
}
