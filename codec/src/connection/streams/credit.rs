//! Windows of credit, in bytes (spec 7).

use super::super::stats::CreditFlow;
use crate::wire::WINDOW_BYTES_MAX;

/// What this side lets the peer send. Invariant: `available + held + unreturned == window`, where
/// what is held (delivered and not consumed) is the caller's to count.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct RecvWindow {
    window: u32,
    available: u32,
    unreturned: u32,
}

impl RecvWindow {
    pub(crate) fn new(window: u32) -> Self {
        Self {
            window,
            available: window,
            unreturned: 0,
        }
    }

    /// The peer used `cost`; `false` if it was not granted that much.
    #[must_use]
    pub(crate) fn try_use(&mut self, cost: u32) -> bool {
        let Some(available) = self.available.checked_sub(cost) else {
            return false;
        };
        self.available = available;
        true
    }

    /// `bytes` were consumed and may be granted again.
    pub(crate) fn give_back(&mut self, bytes: u32) {
        self.unreturned += bytes;
    }

    /// Uses `bytes`, at most what is available, and gives them back at once.
    pub(crate) fn pass(&mut self, bytes: u32) {
        self.available -= bytes;
        self.unreturned += bytes;
    }

    /// Whether a CREDIT is worth a frame: half the window can be granted.
    pub(crate) fn is_due(&self) -> bool {
        self.unreturned > 0 && self.unreturned >= self.window / 2
    }

    /// What the next grant is.
    pub(crate) fn due(&self) -> u32 {
        self.unreturned
    }

    /// Enlarges the window; the extra bytes go out with the next grant.
    pub(crate) fn grow(&mut self, extra: u32) {
        self.window += extra;
        self.unreturned += extra;
    }

    /// What to put into CREDIT now.
    pub(crate) fn take_grant(&mut self) -> u32 {
        let grant = std::mem::take(&mut self.unreturned);
        self.available += grant;
        grant
    }

    pub(crate) fn window(&self) -> u32 {
        self.window
    }

    pub(crate) fn available(&self) -> u32 {
        self.available
    }

    /// What is delivered and not consumed.
    pub(crate) fn held(&self) -> u32 {
        self.window - self.available - self.unreturned
    }
}

/// What the peer lets this side send.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct SendWindow {
    credit: u32,
}

impl SendWindow {
    pub(crate) fn new(credit: u32) -> Self {
        Self { credit }
    }

    pub(crate) fn credit(self) -> u32 {
        self.credit
    }

    /// The peer granted more; `false` if that is more than can be outstanding (spec 7.5).
    #[must_use]
    pub(crate) fn grant(&mut self, bytes: u32) -> bool {
        match self.credit.checked_add(bytes) {
            Some(credit) if credit <= WINDOW_BYTES_MAX => {
                self.credit = credit;
                true
            }
            _ => false,
        }
    }

    /// Uses `cost`, which the caller has checked against `credit`.
    pub(crate) fn use_up(&mut self, cost: u32) {
        self.credit -= cost;
    }
}

/// The connection's own window with its audit, receiving side.
#[derive(Copy, Clone, Debug)]
pub(crate) struct RecvAccount {
    pub(crate) window: RecvWindow,
    pub(crate) flow: CreditFlow,
}

impl RecvAccount {
    pub(crate) fn new(window: u32) -> Self {
        let flow = CreditFlow {
            granted: u64::from(window),
            ..CreditFlow::default()
        };
        Self {
            window: RecvWindow::new(window),
            flow,
        }
    }

    #[must_use]
    pub(crate) fn try_use(&mut self, cost: u32) -> bool {
        self.flow.used += u64::from(cost);
        self.window.try_use(cost)
    }

    pub(crate) fn give_back(&mut self, bytes: u32) {
        self.flow.returned += u64::from(bytes);
        self.window.give_back(bytes);
    }

    /// Uses credit, which the caller has checked, and gives it back at once.
    pub(crate) fn pass(&mut self, bytes: u32) {
        self.flow.used += u64::from(bytes);
        self.flow.returned += u64::from(bytes);
        self.window.pass(bytes);
    }

    pub(crate) fn take_grant(&mut self) -> u32 {
        let grant = self.window.take_grant();
        self.flow.granted += u64::from(grant);
        grant
    }
}

/// The connection's own credit with its audit, sending side.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct SendAccount {
    window: SendWindow,
    pub(crate) flow: CreditFlow,
}

impl SendAccount {
    pub(crate) fn new(credit: u32) -> Self {
        let flow = CreditFlow {
            granted: u64::from(credit),
            ..CreditFlow::default()
        };
        Self {
            window: SendWindow::new(credit),
            flow,
        }
    }

    pub(crate) fn credit(&self) -> u32 {
        self.window.credit()
    }

    #[must_use]
    pub(crate) fn grant(&mut self, bytes: u32) -> bool {
        self.flow.granted += u64::from(bytes);
        self.window.grant(bytes)
    }

    pub(crate) fn use_up(&mut self, cost: u32) {
        self.flow.used += u64::from(cost);
        self.window.use_up(cost);
    }
}
