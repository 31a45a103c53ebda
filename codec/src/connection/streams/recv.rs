//! The receiving half of a stream.

use std::time::{Duration, Instant};

use super::credit::RecvWindow;
use crate::wire::Malformed;

/// A window that is used up faster than half of it in this time is too small for its stream.
const GROWTH_INTERVAL: Duration = Duration::from_millis(250);

/// A message of which fragments are still to come.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) len: u32,
    pub(crate) offset: u32,
}

/// What the next DATA of a stream is a part of.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) message_len: u32,
    pub(crate) offset: u32,
}

#[derive(Debug)]
pub(crate) struct RecvHalf {
    pub(crate) window: RecvWindow,
    /// The message in progress.
    pub(crate) message: Option<Incoming>,
    /// END_REQUEST was seen.
    pub(crate) ended: bool,
    /// How much of the growth budget the window has taken.
    pub(crate) grown: u32,
    granted_at: Instant,
}

impl RecvHalf {
    pub(crate) fn new(window: u32, now: Instant) -> Self {
        Self {
            window: RecvWindow::new(window),
            message: None,
            ended: false,
            grown: 0,
            granted_at: now,
        }
    }

    /// Checks a fragment of `len` bytes against the message in progress and counts it in.
    pub(crate) fn place(
        &mut self,
        len: u32,
        total: Option<u32>,
        more: bool,
    ) -> Result<Place, Malformed> {
        let message = match (self.message, total) {
            (Some(_), Some(_)) => return Err(Malformed::Total),
            (Some(message), None) => message,
            (None, Some(total)) => Incoming {
                len: total,
                offset: 0,
            },
            // Only a fragmented message says how long it is.
            (None, None) if more => return Err(Malformed::Total),
            (None, None) => {
                return Ok(Place {
                    message_len: len,
                    offset: 0,
                });
            }
        };
        let end = message.offset.checked_add(len).ok_or(Malformed::Total)?;
        // The fragment without MORE reaches the total, and no other does.
        let agrees = if more {
            end < message.len
        } else {
            end == message.len
        };
        if !agrees {
            return Err(Malformed::Total);
        }
        self.message = more.then_some(Incoming {
            len: message.len,
            offset: end,
        });
        Ok(Place {
            message_len: message.len,
            offset: message.offset,
        })
    }

    /// Doubles the window when its consumer keeps up with a peer that is held back by it (spec
    /// 7.3.1). The
    /// caller asks when a grant is due. Returns the growth, at most `budget`.
    pub(crate) fn grow(&mut self, now: Instant, window_max: u32, budget: u32) -> Growth {
        let fast = now.saturating_duration_since(self.granted_at) < GROWTH_INTERVAL;
        self.granted_at = now;
        let window = self.window.window();
        let keeps_up = self.window.held() <= window / 4;
        let wanted = window.min(window_max.saturating_sub(window));
        if !fast || !keeps_up || wanted == 0 {
            return Growth::None;
        }
        let extra = wanted.min(budget);
        if extra == 0 {
            return Growth::BudgetUsedUp;
        }
        self.window.grow(extra);
        self.grown += extra;
        Growth::By(extra)
    }
}

/// What became of a window that could have grown.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Growth {
    None,
    By(u32),
    BudgetUsedUp,
}
