//! Records in a directory that all processes can write to: `DIR/<endpoint>/<instance id>.json`.
//!
//! An owner writes its record under a hidden name, renames it into place, and writes it again with
//! the next heartbeat three times per time to live. A reader never compares clocks: it sees the
//! heartbeat change and counts the time since then on its own monotonic clock. Changes are told by
//! inotify where that works, and found by reading the directory again where it does not (network
//! file systems). What is in the directory is not trusted: names, kinds, sizes and contents are
//! checked, and what fails is skipped. Nothing is synced to disk: a record is worth nothing after a
//! crash.

mod endpoint_dir;
mod notify;
mod record;
mod skips;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind as IoErrorKind},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process,
    sync::Arc,
    time::{Duration, Instant},
};

use ringmain_codec::EndpointId;
use ringmain_telemetry::Telemetry;

use self::{endpoint_dir::EndpointDir, notify::Notify, record::Record, skips::Skips};
use super::{Changed, Store};
use crate::{Error, ErrorKind, Instance, registry::Key};

/// A directory of records.
pub(crate) struct FileStore {
    dir: PathBuf,
    ttl: Duration,
    skips: Skips,
    /// Absent where the system has no inotify instances left.
    notify: Option<Notify>,
    endpoints: BTreeMap<EndpointId, EndpointDir>,
}

impl FileStore {
    /// Uses a directory, creating it where it does not exist.
    pub(crate) fn open(
        dir: &Path,
        ttl: Duration,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self, Error> {
        let usable = fs::create_dir_all(dir).and_then(|()| fs::read_dir(dir));
        usable.map_err(|error| unavailable("the registry directory cannot be used", dir, error))?;
        Ok(Self {
            dir: dir.to_owned(),
            ttl,
            skips: Skips::new(telemetry),
            notify: Notify::new(),
            endpoints: BTreeMap::new(),
        })
    }

    fn endpoint_path(&self, endpoint: &EndpointId) -> PathBuf {
        // An endpoint id is made of harmless characters and has at least two dots between labels.
        self.dir.join(endpoint.as_str())
    }

    fn record_path(&self, key: &Key) -> PathBuf {
        self.endpoint_path(&key.endpoint)
            .join(record::file_name(key.id))
    }
}

impl Store for FileStore {
    fn expires(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn events(&self) -> Option<Arc<OwnedFd>> {
        self.notify.as_ref().map(Notify::fd)
    }

    fn drain_events(&mut self) -> Changed {
        let Some(notify) = &mut self.notify else {
            return Changed::Endpoints(Default::default());
        };
        notify.drain().unwrap_or_else(|error| {
            // Without events the periodic reading finds every change, only later.
            tracing::warn!(%error, "registry.events_lost");
            self.notify = None;
            Changed::All
        })
    }

    fn watch(&mut self, endpoint: &EndpointId) {
        let path = self.endpoint_path(endpoint);
        // So that there is something to watch. Not the registry itself: its absence is an outage,
        // which an empty directory of ours would hide. Fails where we may only read; an owner will
        // create it.
        fs::create_dir(&path).unwrap_or_default();
        if let Some(notify) = &mut self.notify {
            notify.add(endpoint, &path);
        }
        self.endpoints.entry(endpoint.clone()).or_default().watched = true;
    }

    fn unwatch(&mut self, endpoint: &EndpointId) {
        self.endpoints.remove(endpoint);
        if let Some(notify) = &mut self.notify {
            notify.remove(endpoint);
        }
    }

    fn put(&mut self, instance: &Arc<Instance>, beat: u64) -> Result<(), Error> {
        let key = Key::of(instance);
        let path = self.record_path(&key);
        let bytes = Record::new(Arc::clone(instance), beat, self.ttl).to_bytes()?;
        let hidden = path.with_file_name(format!(".{}.{}.tmp", key.id, process::id()));
        let write = || fs::write(&hidden, &bytes).and_then(|()| fs::rename(&hidden, &path));
        let written = write().or_else(|error| match error.kind() {
            // First record of the endpoint, or somebody cleaned up.
            IoErrorKind::NotFound => {
                fs::create_dir_all(self.endpoint_path(&key.endpoint)).and_then(|()| write())
            }
            _ => Err(error),
        });
        written.map_err(|error| unavailable("the record cannot be written", &path, error))
    }

    fn remove(&mut self, key: &Key) -> Result<(), Error> {
        let path = self.record_path(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != IoErrorKind::NotFound => {
                Err(unavailable("the record cannot be removed", &path, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn read(&mut self, endpoint: &EndpointId, now: Instant) -> Result<Vec<Arc<Instance>>, Error> {
        let path = self.endpoint_path(endpoint);
        let dir = self.endpoints.entry(endpoint.clone()).or_default();
        if let Some(notify) = self.notify.as_mut().filter(|_| dir.watched) {
            // Renewed if the directory was removed and created again; before listing, so that
            // nothing slips through.
            notify.add(endpoint, &path);
        }
        let listed = match fs::read_dir(&path) {
            // No record was ever written here. If the registry itself is gone, that is another
            // matter.
            Err(error) if error.kind() == IoErrorKind::NotFound => {
                fs::read_dir(&self.dir).map(|_| None)
            }
            listed => listed.map(Some),
        };
        let scanned = listed.and_then(|entries| match entries {
            None => Ok(Vec::new()),
            Some(entries) => entries
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>(),
        });
        match scanned {
            Ok(names) => Ok(dir.scan(endpoint, &path, names, now, &mut self.skips)),
            Err(error) => {
                dir.fail();
                Err(unavailable(
                    "the registry directory cannot be read",
                    &path,
                    error,
                ))
            }
        }
    }

    fn next_expiry(&self, endpoint: &EndpointId) -> Option<Instant> {
        self.endpoints.get(endpoint)?.next_expiry()
    }

    fn forgive(&mut self, gap: Duration) {
        self.endpoints.values_mut().for_each(|dir| dir.forgive(gap));
    }

    fn endpoints(&mut self) -> Result<Vec<EndpointId>, Error> {
        let list = || -> io::Result<Vec<EndpointId>> {
            let mut endpoints = Vec::new();
            for entry in fs::read_dir(&self.dir)? {
                let name = entry?.file_name();
                endpoints.extend(
                    name.to_str()
                        .and_then(|name| name.parse::<EndpointId>().ok()),
                );
            }
            Ok(endpoints)
        };
        list()
            .map_err(|error| unavailable("the registry directory cannot be read", &self.dir, error))
    }
}

fn unavailable(text: &str, path: &Path, error: io::Error) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("{text}: {}", path.display()),
    )
    .because(error)
}

#[cfg(test)]
mod tests;
