//! Ping-pong: one caller, one round trip at a time.

use std::io::{self, ErrorKind, Read, Write};

use anyhow::ensure;
use ringmain_bench_harness::{
    Counts, Load, Plan, Rep, Window, histogram, now_ns, read_words, write_words,
};

use super::set_totals;

/// Bytes of the first message of a connection: how long requests and answers are.
const HELLO_BYTES: usize = 8;
/// Both directions carry two words.
const MESSAGE_BYTES_MIN: usize = 16;
/// More than any plan asks for; a length beyond it is no hello.
const MESSAGE_BYTES_MAX: usize = 1 << 26;

/// Runs round trips for the warm-up and the window of `plan`.
///
/// `round` makes the round trip of that number, and says whether the right answer came.
pub(super) fn measure(
    plan: &Plan,
    mut round: impl FnMut(u64) -> anyhow::Result<bool>,
) -> anyhow::Result<Rep> {
    ensure!(
        plan.load == Load::Closed && plan.streams == 1 && plan.items == 1,
        "a ping-pong has one caller, and one item in each call"
    );
    let bytes = u64::from(plan.item_bytes);
    let mut latency = histogram();
    let (mut calls, mut wrong) = (0, 0);
    let mut one = |calls: &mut u64| {
        *calls += 1;
        wrong += u64::from(!round(*calls)?);
        anyhow::Ok(())
    };
    let counts = |calls: u64| Counts {
        items: calls,
        bytes: calls * bytes,
        calls,
    };
    let until = now_ns() + plan.warm_up_ms * 1_000_000;
    while now_ns() < until {
        one(&mut calls)?;
    }
    let window = Window::open(plan, || counts(calls), None);
    let until = now_ns() + plan.window_ms * 1_000_000;
    let mut now = 0;
    while now < until {
        let sent = now_ns();
        one(&mut calls)?;
        now = now_ns();
        latency.saturating_record((now - sent).max(1));
    }
    let mut rep = window.close(|| counts(calls), None);
    if !plan.traced {
        rep.set_histogram("latency", &latency);
    }
    set_totals(&mut rep, counts(calls), wrong);
    Ok(rep)
}

/// The calling end of a connection.
pub(super) struct Caller<S> {
    stream: S,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl<S: Read + Write> Caller<S> {
    /// Tells the server how long requests and answers will be.
    pub(super) fn new(mut stream: S, plan: &Plan) -> anyhow::Result<Self> {
        let answer = plan.item_bytes as usize;
        let mut hello = [0; HELLO_BYTES];
        hello[..4].copy_from_slice(&u32::try_from(plan.request_bytes)?.to_le_bytes());
        hello[4..].copy_from_slice(&plan.item_bytes.to_le_bytes());
        ensure!(
            lengths(hello).is_some(),
            "a ping-pong of {} B and {answer} B is not possible",
            plan.request_bytes
        );
        write_whole(&mut stream, &hello)?;
        Ok(Self {
            stream,
            request: vec![0; plan.request_bytes],
            answer: vec![0; answer],
        })
    }

    /// One round trip; whether the answer was the request's.
    pub(super) fn round(&mut self, number: u64) -> anyhow::Result<bool> {
        write_words(&mut self.request, (number, !number));
        write_whole(&mut self.stream, &self.request)?;
        read_whole(&mut self.stream, &mut self.answer)?;
        Ok(read_words(&self.answer) == (number, !number))
    }
}

/// Answers requests with their two words until the caller leaves.
///
/// # Errors
///
/// If it leaves, or says what is no hello.
pub(super) fn answer(mut stream: impl Read + Write) -> io::Result<()> {
    let mut hello = [0; HELLO_BYTES];
    read_whole(&mut stream, &mut hello)?;
    let (request, answer) = lengths(hello).ok_or(ErrorKind::InvalidData)?;
    let (mut request, mut answer) = (vec![0; request], vec![0; answer]);
    loop {
        read_whole(&mut stream, &mut request)?;
        write_words(&mut answer, read_words(&request));
        write_whole(&mut stream, &answer)?;
    }
}

/// Lengths of requests and answers; `None` if it is none of our hellos.
fn lengths(hello: [u8; HELLO_BYTES]) -> Option<(usize, usize)> {
    let (request, answer) = hello.split_at(4);
    let length = |bytes: &[u8]| {
        let bytes = u32::from_le_bytes(bytes.try_into().ok()?);
        let bytes = usize::try_from(bytes).ok()?;
        let fits = (MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX).contains(&bytes);
        fits.then_some(bytes)
    };
    Some((length(request)?, length(answer)?))
}

/// Fills `buffer`. A stream that does not block is read in a busy loop.
fn read_whole(stream: &mut impl Read, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match stream.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => buffer = &mut buffer[count..],
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_whole(stream: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::{HELLO_BYTES, MESSAGE_BYTES_MAX, lengths};

    #[test]
    fn a_hello_has_lengths_that_are_possible() {
        let hello = |request: u32, answer: u32| {
            let mut bytes = [0; HELLO_BYTES];
            bytes[..4].copy_from_slice(&request.to_le_bytes());
            bytes[4..].copy_from_slice(&answer.to_le_bytes());
            lengths(bytes)
        };
        assert_eq!(hello(64, 16), Some((64, 16)));
        assert_eq!(hello(64, 15), None);
        assert_eq!(hello(0, 64), None);
        let most = u32::try_from(MESSAGE_BYTES_MAX).unwrap();
        assert_eq!(hello(most + 1, 64), None);
    }
}
