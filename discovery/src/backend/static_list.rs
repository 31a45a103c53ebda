//! A list of instances that somebody keeps by hand, as JSON:
//!
//! ```json
//! [
//!   { "endpoint": "prod.worker.generate",
//!     "addresses": ["10.0.0.7:7000", "unix:/run/worker.sock"] },
//!   { "endpoint": "prod.worker.generate", "addresses": ["10.0.0.8:7000"],
//!     "id": "00000000000000a8", "weight": 50, "capacity": 256, "metadata": { "model": "small" } }
//! ]
//! ```
//!
//! `id`, `weight`, `capacity` and `metadata` may be left out. An entry without `id` gets one
//! derived from its addresses and any process may answer there; with `id`, another process at the
//! address is refused as a stale instance. Unknown keys are errors. The file is read again when it
//! changes; a list that cannot be read then leaves the last one in place, marked stale. Registering
//! changes nothing: it succeeds, and is told in the log where the list disagrees.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use ringmain_codec::{EndpointId, InstanceId};
use serde::{Deserialize, Deserializer};

use super::Store;
use crate::{Error, ErrorKind, Identity, Instance, TransportAddr, model::parse, registry::Key};

/// Largest list that is read, in bytes.
const LIST_BYTES_MAX: u64 = 1024 * 1024;

/// A list in a file.
#[derive(Debug)]
pub(crate) struct StaticStore {
    file: PathBuf,
}

impl StaticStore {
    /// Uses a list; it must be in order at the start.
    pub(crate) fn open(file: &Path) -> Result<Self, Error> {
        load(file)?;
        Ok(Self {
            file: file.to_owned(),
        })
    }
}

impl Store for StaticStore {
    fn expires(&self) -> bool {
        false
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn put(&mut self, instance: &Arc<Instance>, _beat: u64) -> Result<(), Error> {
        let listed = load(&self.file)?;
        let is_ours = |entry: &Arc<Instance>| {
            entry.endpoint == instance.endpoint
                && entry
                    .addresses
                    .iter()
                    .any(|address| instance.addresses.contains(address))
        };
        let endpoint = &instance.endpoint;
        match listed.iter().find(|entry| is_ours(entry)) {
            None => {
                tracing::warn!(%endpoint, addresses = ?instance.addresses, "registration.not_listed")
            }
            Some(entry) if entry.expected_id().is_some_and(|id| id != instance.id) => {
                tracing::warn!(%endpoint, listed = %entry.id, own = %instance.id, "registration.listed_as_another");
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn remove(&mut self, _key: &Key) -> Result<(), Error> {
        Ok(())
    }

    fn read(&mut self, endpoint: &EndpointId, _now: Instant) -> Result<Vec<Arc<Instance>>, Error> {
        let mut listed = load(&self.file)?;
        listed.retain(|instance| instance.endpoint == *endpoint);
        Ok(listed)
    }

    fn endpoints(&mut self) -> Result<Vec<EndpointId>, Error> {
        let endpoints: BTreeSet<_> = load(&self.file)?
            .iter()
            .map(|entry| entry.endpoint.clone())
            .collect();
        Ok(endpoints.into_iter().collect())
    }
}

/// One element of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(deserialize_with = "parse")]
    endpoint: EndpointId,
    addresses: Vec<TransportAddr>,
    #[serde(default, deserialize_with = "parse_some")]
    id: Option<InstanceId>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    weight: Option<u32>,
    capacity: Option<u32>,
}

fn parse_some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<InstanceId>, D::Error> {
    parse(deserializer).map(Some)
}

impl Entry {
    fn into_instance(self) -> Instance {
        let identity = if self.id.is_some() {
            Identity::Announced
        } else {
            Identity::Derived
        };
        let id = self.id.unwrap_or_else(|| derived_id(&self.addresses));
        Instance {
            metadata: self.metadata,
            weight: self.weight.unwrap_or(Instance::WEIGHT_DEFAULT),
            capacity: self.capacity,
            identity,
            ..Instance::new(id, self.endpoint, self.addresses)
        }
    }
}

/// Stands for a set of addresses: the same in every process, whatever their order.
fn derived_id(addresses: &[TransportAddr]) -> InstanceId {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let sorted: BTreeSet<String> = addresses.iter().map(ToString::to_string).collect();
    let bytes = sorted
        .iter()
        .flat_map(|address| address.bytes().chain([b'\n']));
    // FNV-1a: stable across versions and machines, which the standard hasher does not promise.
    let hash = bytes.fold(OFFSET, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    });
    InstanceId::new(hash.max(1)).unwrap_or_else(|| unreachable!("at least one"))
}

/// Reads the whole list.
fn load(file: &Path) -> Result<Vec<Arc<Instance>>, Error> {
    let invalid = |text: String| {
        Error::new(
            ErrorKind::InvalidConfig,
            format!("{}: {text}", file.display()),
        )
    };
    let mut bytes = Vec::new();
    let opened =
        File::open(file).and_then(|opened| opened.take(LIST_BYTES_MAX + 1).read_to_end(&mut bytes));
    let count =
        opened.map_err(|error| invalid("the list cannot be read".to_owned()).because(error))?;
    if count as u64 > LIST_BYTES_MAX {
        return Err(invalid(format!(
            "the list is larger than {LIST_BYTES_MAX} bytes"
        )));
    }
    let entries: Vec<Entry> = serde_json::from_slice(&bytes)
        .map_err(|error| invalid("the list is not in order".to_owned()).because(error))?;
    let mut seen = BTreeSet::new();
    let mut instances = Vec::with_capacity(entries.len());
    for entry in entries {
        let instance = entry.into_instance();
        let place = instances.len() + 1;
        instance
            .check()
            .map_err(|error| invalid(format!("entry {place}: {error}")))?;
        if !seen.insert((instance.endpoint.clone(), instance.id)) {
            let twin = format!(
                "entry {place}: {} has this instance already",
                instance.endpoint
            );
            return Err(invalid(twin));
        }
        instances.push(Arc::new(instance));
    }
    Ok(instances)
}

#[cfg(test)]
mod tests;
