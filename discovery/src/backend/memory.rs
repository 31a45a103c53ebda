//! Records in this process, shared by the clones of one [`Discovery`](crate::Discovery).

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use ringmain_codec::{EndpointId, InstanceId};

use super::Store;
use crate::{Error, Instance, registry::Key};

/// Records by endpoint and id. Their owners live in this process, so nothing needs to expire.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore {
    records: BTreeMap<EndpointId, BTreeMap<InstanceId, Arc<Instance>>>,
}

impl Store for MemoryStore {
    fn expires(&self) -> bool {
        false
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn put(&mut self, instance: &Arc<Instance>, _beat: u64) -> Result<(), Error> {
        let records = self.records.entry(instance.endpoint.clone()).or_default();
        records.insert(instance.id, Arc::clone(instance));
        Ok(())
    }

    fn remove(&mut self, key: &Key) -> Result<(), Error> {
        if let Some(records) = self.records.get_mut(&key.endpoint) {
            records.remove(&key.id);
            if records.is_empty() {
                self.records.remove(&key.endpoint);
            }
        }
        Ok(())
    }

    fn read(&mut self, endpoint: &EndpointId, _now: Instant) -> Result<Vec<Arc<Instance>>, Error> {
        let records = self.records.get(endpoint);
        Ok(records
            .into_iter()
            .flat_map(BTreeMap::values)
            .cloned()
            .collect())
    }

    fn endpoints(&mut self) -> Result<Vec<EndpointId>, Error> {
        Ok(self.records.keys().cloned().collect())
    }
}
