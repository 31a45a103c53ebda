//! Hearing of changes in directories.

use std::{
    collections::{BTreeSet, HashMap},
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::Path,
    sync::Arc,
};

use ringmain_codec::EndpointId;
use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags},
    io::Errno,
};

use super::Changed;

/// One inotify instance with a watch per endpoint directory.
pub(super) struct Notify {
    fd: Arc<OwnedFd>,
    /// The kernel's number of each watch. Two endpoints never share a directory.
    endpoints: HashMap<i32, EndpointId>,
    watches: HashMap<EndpointId, i32>,
    complained: bool,
}

impl Notify {
    /// `None`, with one warning, where the user's inotify instances are used up.
    pub(super) fn new() -> Option<Self> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
        let fd = fd
            .inspect_err(|error| tracing::warn!(%error, "registry.no_events"))
            .ok()?;
        Some(Self {
            fd: Arc::new(fd),
            endpoints: HashMap::new(),
            watches: HashMap::new(),
            complained: false,
        })
    }

    pub(super) fn fd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.fd)
    }

    /// Watches a directory, unless it is watched already. One that does not exist is tried again at
    /// the next reading.
    pub(super) fn add(&mut self, endpoint: &EndpointId, path: &Path) {
        if self.watches.contains_key(endpoint) {
            return;
        }
        let wanted = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        match inotify::add_watch(&self.fd, path, wanted) {
            Ok(number) => {
                self.watches.insert(endpoint.clone(), number);
                self.endpoints.insert(number, endpoint.clone());
            }
            Err(Errno::NOENT) => {}
            Err(error) if !self.complained => {
                self.complained = true;
                tracing::warn!(path = %path.display(), %error, "registry.no_events");
            }
            Err(_) => {}
        }
    }

    /// Ends the watch of an endpoint.
    pub(super) fn remove(&mut self, endpoint: &EndpointId) {
        if let Some(number) = self.watches.remove(endpoint) {
            self.endpoints.remove(&number);
            // Fails if the directory is gone, and its watch with it.
            inotify::remove_watch(&self.fd, number).unwrap_or_default();
        }
    }

    /// Takes all events. Hidden files are none of our business: records appear by being renamed.
    pub(super) fn drain(&mut self) -> Result<Changed, Errno> {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let fd = Arc::clone(&self.fd);
        let mut reader = inotify::Reader::new(&*fd, &mut buffer);
        let mut changed = BTreeSet::new();
        let mut lost = false;
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
            };
            let what = event.events();
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                lost = true;
                continue;
            }
            let Some(endpoint) = self.endpoints.get(&event.wd()).cloned() else {
                continue;
            };
            let hidden = event
                .file_name()
                .is_some_and(|name| name.to_bytes().starts_with(b"."));
            if hidden {
                continue;
            }
            if what.contains(ReadFlags::IGNORED) {
                self.endpoints.remove(&event.wd());
                self.watches.remove(&endpoint);
            } else if what.contains(ReadFlags::MOVE_SELF) {
                // The watch follows the moved directory; a new one must be made for the path.
                self.remove(&endpoint);
            }
            changed.insert(endpoint);
        }
        Ok(if lost {
            Changed::All
        } else {
            Changed::Endpoints(changed)
        })
    }
}
