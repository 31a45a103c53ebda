//! The content of a record file.

use std::{sync::Arc, time::Duration};

use ringmain_codec::InstanceId;
use serde::{Deserialize, Serialize};

use super::skips::Skip;
use crate::{Error, ErrorKind, Instance, Options, registry::Key};

/// Largest record that is read, in bytes.
pub(super) const RECORD_BYTES_MAX: u64 = 64 * 1024;

/// Version of the layout.
const FORMAT: u32 = 1;

/// An instance with what keeps it alive.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    format: u32,
    /// Differs each time the owner writes.
    pub(super) heartbeat: u64,
    ttl_ms: u64,
    #[serde(with = "shared")]
    pub(super) instance: Arc<Instance>,
}

impl Record {
    pub(super) fn new(instance: Arc<Instance>, heartbeat: u64, ttl: Duration) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self {
            format: FORMAT,
            heartbeat,
            ttl_ms,
            instance,
        }
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(self).map_err(|error| {
            Error::new(
                ErrorKind::InvalidInstance,
                "the instance cannot be written as a record",
            )
            .because(error)
        })
    }

    /// Reads a file that is named for `key`.
    pub(super) fn parse(bytes: &[u8], key: &Key) -> Result<Self, Skip> {
        #[derive(Deserialize)]
        struct Layout {
            format: u32,
        }
        let malformed = |error: serde_json::Error| Skip::Malformed(error.to_string());
        // Looked at alone first: another layout need not have our fields.
        let Layout { format } = serde_json::from_slice(bytes).map_err(malformed)?;
        if format != FORMAT {
            return Err(Skip::Foreign("it has another format version"));
        }
        let record: Self = serde_json::from_slice(bytes).map_err(malformed)?;
        if Key::of(&record.instance) != *key {
            return Err(Skip::Foreign(
                "it names another endpoint or instance than its path",
            ));
        }
        record
            .instance
            .check()
            .map_err(|error| Skip::Malformed(error.to_string()))?;
        Ok(record)
    }

    /// How long it counts without renewal; nobody may claim for ever.
    pub(super) fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms).clamp(Duration::from_millis(1), Options::TTL_MAX)
    }
}

/// Name of an instance's file.
pub(super) fn file_name(id: InstanceId) -> String {
    format!("{id}.json")
}

/// The instance a file is named for, if the name is exactly as we write it.
pub(super) fn id_of(name: &str) -> Option<InstanceId> {
    let id = name.strip_suffix(".json")?.parse().ok()?;
    (file_name(id) == name).then_some(id)
}

/// Serde for an instance behind a shared pointer.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Instance;

    pub(super) fn serialize<S: Serializer>(
        value: &Arc<Instance>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Instance::serialize(value, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Instance>, D::Error> {
        Instance::deserialize(deserializer).map(Arc::new)
    }
}
