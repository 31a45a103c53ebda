//! What the handlers of all workers did.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What became of one call at the workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// How often a handler was called for it.
    pub runs: u32,
    /// How many of these have ended, or were dropped.
    pub ended: u32,
    /// Messages that handlers have handed to the sink.
    pub sent: u32,
}

/// Every handler call of a run, by the call's number; it outlives the workers.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    book: Arc<Mutex<Book>>,
}

#[derive(Debug, Default)]
struct Book {
    records: BTreeMap<u64, Record>,
    faults: Vec<String>,
}

impl Ledger {
    /// What is known of a call.
    pub fn record(&self, number: u64) -> Record {
        self.book()
            .records
            .get(&number)
            .copied()
            .unwrap_or_default()
    }

    /// Handlers that are running now.
    pub fn running(&self) -> u32 {
        self.book()
            .records
            .values()
            .map(|record| record.runs - record.ended)
            .sum()
    }

    /// What handlers found wrong with what they received.
    pub fn faults(&self) -> Vec<String> {
        self.book().faults.clone()
    }

    pub(super) fn fault(&self, text: String) {
        self.book().faults.push(text);
    }

    pub(super) fn sent(&self, number: u64) {
        self.book().records.entry(number).or_default().sent += 1;
    }

    /// A handler was called; it ends when the guard is dropped.
    pub(super) fn enter(&self, number: u64) -> Entered {
        self.book().records.entry(number).or_default().runs += 1;
        Entered {
            ledger: self.clone(),
            number,
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handler that runs.
pub(super) struct Entered {
    ledger: Ledger,
    number: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.ledger
            .book()
            .records
            .entry(self.number)
            .or_default()
            .ended += 1;
    }
}
