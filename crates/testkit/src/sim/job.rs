//! What a call asks of a worker, and the bytes by which both ends know each other's messages.

/// Bytes of a job's fixed part, which starts its first message.
const HEAD: usize = 21;
/// Bytes that start each message: the call's number and the message's.
const STAMP: usize = 12;

/// How a handler answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// With `count` messages.
    Emit,
    /// With each message of the input, the first one aside.
    Echo,
    /// With one message, once the input has ended.
    Take,
    /// With one message, and another when it is stopped.
    Hang,
    /// With `count` messages and an error of its own.
    Fail,
    /// With `count` messages and a panic.
    Panic,
    /// As `Hang`, with an input that it never reads.
    Ignore,
    /// With `count` messages, pushed by the worker's engine step by step.
    Step,
}

impl JobKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Emit,
        Self::Echo,
        Self::Take,
        Self::Hang,
        Self::Fail,
        Self::Panic,
        Self::Ignore,
        Self::Step,
    ];

    /// Whether the call's request is a stream.
    pub const fn takes_input(self) -> bool {
        matches!(self, Self::Echo | Self::Take | Self::Ignore)
    }
}

/// One call's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The call; no two calls of a run have the same number.
    pub number: u64,
    /// How it is answered.
    pub kind: JobKind,
    /// Messages to send: of the answer, or of the input.
    pub count: u32,
    /// Bytes of each.
    pub size: u32,
    /// Microseconds between them.
    pub pace_us: u32,
}

impl Job {
    /// The first message of the request, padded to `len` bytes.
    pub fn request(&self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len.max(HEAD));
        bytes.extend(self.number.to_le_bytes());
        bytes.push(self.kind as u8);
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.pace_us.to_le_bytes());
        let number = self.number;
        bytes.extend((HEAD..len).map(|place| filler(number, u32::MAX, place)));
        bytes
    }

    /// Reads a request; `None` if it is none, or if its padding is not its own.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let number = u64::from_le_bytes(*number);
        let (kind, rest) = rest.split_first()?;
        let kind = *JobKind::ALL.get(usize::from(*kind))?;
        let (count, rest) = rest.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let (pace_us, padding) = rest.split_first_chunk()?;
        let own = (HEAD..)
            .zip(padding)
            .all(|(place, byte)| *byte == filler(number, u32::MAX, place));
        own.then_some(Self {
            number,
            kind,
            count: u32::from_le_bytes(*count),
            size: u32::from_le_bytes(*size),
            pace_us: u32::from_le_bytes(*pace_us),
        })
    }

    /// Message `index` of this call, in either direction.
    pub fn message(&self, index: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size as usize + STAMP);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(index.to_le_bytes());
        let number = self.number;
        bytes.extend((STAMP..self.size as usize).map(|place| filler(number, index, place)));
        bytes
    }

    /// What is wrong with a message that should be number `index`; nothing, if it is that one.
    pub fn find_fault(&self, index: u32, bytes: &[u8]) -> Option<String> {
        let wanted = self.message(index);
        if bytes == wanted {
            return None;
        }
        let place = bytes.iter().zip(&wanted).position(|(a, b)| a != b);
        let stamp = bytes.split_first_chunk::<8>().map(|(number, rest)| {
            let index = rest.first_chunk().map(|index| u32::from_le_bytes(*index));
            (u64::from_le_bytes(*number), index)
        });
        Some(format!(
            "call {}: wanted message {index} of {} bytes, got {stamp:?} of {} bytes, first \
             different at {place:?}",
            self.number,
            wanted.len(),
            bytes.len(),
        ))
    }

    /// The messages of a complete answer.
    pub const fn answer_len(&self) -> u32 {
        match self.kind {
            JobKind::Emit | JobKind::Echo | JobKind::Fail | JobKind::Panic | JobKind::Step => {
                self.count
            }
            JobKind::Take => 1,
            JobKind::Hang | JobKind::Ignore => 2,
        }
    }
}

/// The byte at a place of a message: each call and each message has its own run of them.
const fn filler(number: u64, index: u32, place: usize) -> u8 {
    let start = number.wrapping_mul(0x9e37_79b9) ^ (index as u64).wrapping_mul(0x85eb_ca6b);
    (start.wrapping_add((place as u64).wrapping_mul(0x0101_0101_0123)) >> 13) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_back_and_a_foreign_byte_is_found() {
        let job = Job {
            number: 7,
            kind: JobKind::Take,
            count: 3,
            size: 100,
            pace_us: 5,
        };
        for len in [0, HEAD, HEAD + 1, 3_000] {
            assert_eq!(Job::read(&job.request(len)), Some(job));
        }
        let mut request = job.request(100);
        request[60] ^= 1;
        assert_eq!(Job::read(&request), None);
        assert_eq!(job.find_fault(2, &job.message(2)), None);
        assert!(job.find_fault(2, &job.message(1)).is_some());
        let other = Job { number: 8, ..job };
        assert!(job.find_fault(2, &other.message(2)).is_some());
    }
}
