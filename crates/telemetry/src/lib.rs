//! Ringmain's counters and gauges: cheap to write on a shard, summed only when somebody looks.
//!
//! ```text
//!  shard 0 ── add ──▶ ShardCells 0 ┐
//!  shard 1 ── add ──▶ ShardCells 1 ├── Telemetry ── snapshot() ──▶ Snapshot ──▶ exposition
//!  others ─ fetch_add ▶ ProcessCells┘        (relaxed reads)
//! ```
//!
//! The types to know are [`Counter`] and [`Gauge`] (every name, unit and help text, in one file),
//! [`ShardCells`] (one per shard, written by that shard alone, without a locked instruction) and
//! [`Telemetry`], which owns them. It never allocates, locks or looks up a label when a value is
//! written, and it carries no business labels: no request, peer or model id. Text formats are not
//! its work either: [`Snapshot`] iterates over samples with their names and help texts, and the
//! exposition is written from that.
#![forbid(unsafe_code)]

mod cells;
mod names;
mod snapshot;

#[cfg(test)]
mod tests;

pub use crate::cells::{ProcessCells, ShardCells, Telemetry};
pub use crate::names::{Aggregate, Counter, Descriptor, Gauge, Kind, Label, Unit};
pub use crate::snapshot::{Origin, Sample, Snapshot};
