//! What is known of one endpoint's directory, and who in it is alive.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use ringmain_codec::{EndpointId, InstanceId};
use rustix::fs::OFlags;

use super::{
    record::{self, RECORD_BYTES_MAX, Record},
    skips::{Skip, Skips},
};
use crate::{Instance, Options, registry::Key};

/// Most records of an endpoint.
const RECORDS_MAX: usize = 16_384;

/// An expired record is removed after this many times its time to live. Should its owner come back
/// after all, its next renewal writes it again.
const REMOVE_TTLS: u32 = 20;

/// One endpoint's directory as it was last read.
#[derive(Default)]
pub(super) struct EndpointDir {
    pub(super) watched: bool,
    records: HashMap<InstanceId, Seen>,
    /// Files that were skipped, so that each is counted once as long as it stays as it is.
    skipped: HashMap<OsString, Stamp>,
    failing: bool,
    /// Until then absence proves nothing: the registry was away, and owners are still writing their
    /// records again.
    grace_until: Option<Instant>,
}

/// One record and when its owner last gave a sign of life.
struct Seen {
    stamp: Stamp,
    heartbeat: u64,
    ttl: Duration,
    instance: Arc<Instance>,
    changed_at: Instant,
    expired: bool,
}

impl Seen {
    fn expires_at(&self) -> Instant {
        self.changed_at + self.ttl
    }
}

/// Tells one content of a file from the next without reading it.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl EndpointDir {
    /// Takes in the directory's names and gives the live instances.
    pub(super) fn scan(
        &mut self,
        endpoint: &EndpointId,
        path: &Path,
        names: Vec<OsString>,
        now: Instant,
        skips: &mut Skips,
    ) -> Vec<Arc<Instance>> {
        self.heal(now);
        let mut present = HashSet::new();
        let mut skipped = HashMap::new();
        for (name, id) in candidates(names, path, skips) {
            let file = path.join(&name);
            // Gone since it was listed.
            let Ok(metadata) = fs::symlink_metadata(&file) else {
                continue;
            };
            let stamp = Stamp::of(&metadata);
            if self.skipped.get(&name) == Some(&stamp) {
                skipped.insert(name, stamp);
                continue;
            }
            let taken = match id {
                None => Err(Skip::Foreign("its name is not an instance id")),
                Some(id) => {
                    let key = Key {
                        endpoint: endpoint.clone(),
                        id,
                    };
                    self.take(&key, &file, &metadata, now).map(|()| id)
                }
            };
            match taken {
                Ok(id) => {
                    present.insert(id);
                }
                Err(skip) => {
                    skips.add(&file, &skip);
                    skipped.insert(name, stamp);
                }
            }
        }
        self.skipped = skipped;
        let grace = self.grace_until.is_some();
        self.records.retain(|id, _| grace || present.contains(id));
        self.judge(path, now, skips)
    }

    /// The directory could not be read: what is known stays, and nobody expires meanwhile.
    pub(super) fn fail(&mut self) {
        self.failing = true;
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let alive = self
            .records
            .values()
            .filter(|seen| !seen.expired && !self.failing);
        alive
            .map(Seen::expires_at)
            .chain(self.grace_until.filter(|_| !self.failing))
            .min()
    }

    pub(super) fn forgive(&mut self, gap: Duration) {
        for seen in self.records.values_mut().filter(|seen| !seen.expired) {
            seen.changed_at += gap;
        }
    }

    /// After an outage everybody gets a whole time to live again: owners could not renew either.
    fn heal(&mut self, now: Instant) {
        if self.failing {
            self.failing = false;
            let mut alive: Vec<_> = self
                .records
                .values_mut()
                .filter(|seen| !seen.expired)
                .collect();
            alive.iter_mut().for_each(|seen| seen.changed_at = now);
            let longest = alive.iter().map(|seen| seen.ttl).max();
            self.grace_until = longest.map(|ttl| now + ttl);
        }
        self.grace_until = self.grace_until.filter(|until| now < *until);
    }

    /// Reads one record if it is not as it was.
    fn take(
        &mut self,
        key: &Key,
        file: &Path,
        metadata: &Metadata,
        now: Instant,
    ) -> Result<(), Skip> {
        let stamp = Stamp::of(metadata);
        let known = self.records.get(&key.id);
        if known.is_some_and(|seen| seen.stamp == stamp) {
            return Ok(());
        }
        if !metadata.is_file() {
            return Err(Skip::Foreign("it is not a regular file"));
        }
        let unreadable = |error: io::Error| Skip::Malformed(format!("it cannot be read: {error}"));
        let bytes = read_bounded(file).map_err(unreadable)?;
        let bytes = bytes.ok_or(Skip::TooLarge)?;
        let record = Record::parse(&bytes, key)?;
        let same_beat = |seen: &&Seen| {
            seen.heartbeat == record.heartbeat && seen.instance.epoch == record.instance.epoch
        };
        // A touched or copied file is no sign of life; only a new heartbeat is.
        let silent = known.filter(same_beat);
        let seen = Seen {
            stamp,
            heartbeat: record.heartbeat,
            ttl: record.ttl(),
            changed_at: silent.map_or(now, |seen| seen.changed_at),
            expired: silent.is_some_and(|seen| seen.expired),
            instance: record.instance,
        };
        self.records.insert(key.id, seen);
        Ok(())
    }

    /// Marks those whose time is over and gives the others.
    fn judge(&mut self, path: &Path, now: Instant, skips: &Skips) -> Vec<Arc<Instance>> {
        let mut alive = Vec::with_capacity(self.records.len());
        for (id, seen) in &mut self.records {
            let file = path.join(record::file_name(*id));
            if now < seen.expires_at() {
                alive.push(Arc::clone(&seen.instance));
            } else if !seen.expired {
                seen.expired = true;
                skips.expired(&file);
            } else if now >= seen.changed_at + seen.ttl * REMOVE_TTLS {
                // Another reader may have been faster, or we may only read here.
                fs::remove_file(&file).unwrap_or_default();
            }
        }
        alive
    }
}

// `Seen::expires_at` and the removal add this much to a time; that must not overflow.
const _: () = assert!(Options::TTL_MAX.as_secs() * (REMOVE_TTLS as u64) < u32::MAX as u64);

/// Visible files with the ids they are named for, in order, so that one that is over the limit is
/// always the same one. Files of other names have a limit of their own and push no record out.
fn candidates(
    names: Vec<OsString>,
    path: &Path,
    skips: &mut Skips,
) -> Vec<(OsString, Option<InstanceId>)> {
    // Hidden: a file that is being written, ours or an editor's.
    let visible = names
        .into_iter()
        .filter(|name| !name.as_encoded_bytes().starts_with(b"."));
    let with_id = visible.map(|name| (name.to_str().and_then(record::id_of), name));
    let (mut records, mut others): (Vec<_>, Vec<_>) = with_id.partition(|(id, _)| id.is_some());
    for files in [&mut records, &mut others] {
        files.sort_unstable();
        if files.len() > RECORDS_MAX {
            skips.add(path, &Skip::OverLimit);
            files.truncate(RECORDS_MAX);
        }
    }
    records
        .into_iter()
        .chain(others)
        .map(|(id, name)| (name, id))
        .collect()
}

/// Reads a whole regular file; `None` when it is too large. Never blocks: not in a pipe, not behind
/// a link.
fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    // Between looking and opening it may have become something else.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    let count = file.take(RECORD_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok((count as u64 <= RECORD_BYTES_MAX).then_some(bytes))
}
