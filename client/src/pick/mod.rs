//! Which instance of a snapshot takes the next call.

mod rng;

pub(crate) use self::rng::random_u64;

/// Random draws before a scan takes over: with most instances available one is enough.
const DRAWS_MAX: usize = 4;

/// How an instance is chosen. An instance named by the call itself goes before any policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// Each in turn, by instance id.
    #[default]
    RoundRobin,
    /// Any, with equal chance.
    Random,
}

impl Policy {
    /// Chooses one of the `len` members of a snapshot that `available` lets through; `None` if it
    /// lets none.
    ///
    /// For routers that choose by themselves and name the instance in their call; a [`Client`]
    /// chooses so for calls that name none. `turn` is the caller's place in its round, any number
    /// at first. No allocation, no lock; a few nanoseconds while most instances are available.
    ///
    /// [`Client`]: crate::Client
    pub fn pick(
        self,
        len: usize,
        turn: &mut usize,
        available: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if len == 0 {
            return None;
        }
        let start = match self {
            Self::RoundRobin => *turn,
            Self::Random => {
                for _ in 0..DRAWS_MAX {
                    let drawn = draw(len);
                    if available(drawn) {
                        return Some(drawn);
                    }
                }
                draw(len)
            }
        };
        // The set may have shrunk since the last turn.
        let start = if start < len { start } else { 0 };
        let found = (start..len)
            .chain(0..start)
            .find(|&index| available(index))?;
        *turn = found + 1;
        Some(found)
    }
}

/// A number below `len` with equal chance (up to 2^-32 for the lengths that occur).
fn draw(len: usize) -> usize {
    let high = u128::from(random_u64()) * len as u128;
    usize::try_from(high >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests;
