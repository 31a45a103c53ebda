//! The server: one thread that sleeps, and writes what is due.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{Builder, sleep};
use std::time::Duration;

use anyhow::Context;
use ringmain_bench_harness::{Serving, now_ns, write_words};

use super::ask::Ask;
use super::frame;
use super::schedule::Schedule;

/// Starts the thread; it serves one connection after the other.
pub(in crate::floor) fn serve() -> anyhow::Result<Serving> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    let address = listener.local_addr()?.to_string();
    let thread = Builder::new().name("floor".to_owned());
    thread.spawn(move || {
        for stream in listener.incoming() {
            // A client that leaves early, or asks for what is not possible, tells it itself.
            stream.and_then(send).ok();
        }
    })?;
    Ok(Serving {
        addresses: vec![address],
        broker_pid: None,
        keep: Box::new(()),
    })
}

/// Sends the items of one request at their times.
fn send(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let ask = Ask::read(&mut io::BufReader::new(&stream))?;
    let mut due_items = Schedule::new(&ask).peekable();
    let mut item = vec![0; ask.item_bytes as usize];
    let mut buffer = Vec::new();
    while let Some(&(due, _)) = due_items.peek() {
        let woke = now_ns();
        if woke < due {
            sleep(Duration::from_nanos(due - woke));
            continue;
        }
        while let Some((due, id)) = due_items.next_if(|&(due, _)| due <= woke) {
            write_words(&mut item, (woke, due));
            frame::push(&mut buffer, id, &item);
        }
        stream.write_all(&buffer)?;
        buffer.clear();
    }
    // The connection is counted while the client reads its meters.
    stream.read_to_end(&mut buffer)?;
    Ok(())
}
