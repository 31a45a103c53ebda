//! Records that are left out: counted each, named once.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use ringmain_telemetry::{Counter, Telemetry};

/// Why a file is not a record.
#[derive(Debug)]
pub(super) enum Skip {
    /// Not what a record looks like.
    Malformed(String),
    /// More than a record may have.
    TooLarge,
    /// Not one of ours, or in the wrong place.
    Foreign(&'static str),
    /// One more than an endpoint may have.
    OverLimit,
}

/// Counts skipped files and names each path in one log line.
pub(super) struct Skips {
    telemetry: Arc<Telemetry>,
    named: HashSet<PathBuf>,
}

impl Skips {
    /// Most paths that are named; further ones are only counted.
    const NAMED_MAX: usize = 256;

    pub(super) fn new(telemetry: Arc<Telemetry>) -> Self {
        Self {
            telemetry,
            named: HashSet::new(),
        }
    }

    /// Counts one.
    pub(super) fn add(&mut self, path: &Path, skip: &Skip) {
        let (counter, code, detail) = match skip {
            Skip::Malformed(detail) => (
                Counter::RegistryRecordsSkippedMalformed,
                "malformed",
                detail.as_str(),
            ),
            Skip::TooLarge => (
                Counter::RegistryRecordsSkippedTooLarge,
                "too_large",
                "over 64 KiB",
            ),
            Skip::Foreign(detail) => (Counter::RegistryRecordsSkippedForeign, "foreign", *detail),
            Skip::OverLimit => (
                Counter::RegistryRecordsSkippedOverLimit,
                "over_limit",
                "too many records",
            ),
        };
        self.telemetry.process().inc(counter);
        let room = self.named.len() < Self::NAMED_MAX;
        if room && self.named.insert(path.to_owned()) {
            tracing::warn!(path = %path.display(), code, detail, "registry.record_skipped");
        }
    }

    /// Counts a record whose owner stopped renewing it.
    pub(super) fn expired(&self, path: &Path) {
        self.telemetry
            .process()
            .inc(Counter::RegistryRecordsExpired);
        tracing::info!(path = %path.display(), "registry.record_expired");
    }
}
