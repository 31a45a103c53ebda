//! Who serves what in a simulation: published at once, on the caller's thread.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringmain_client::{SnapshotSource, Watching};
use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::{Freshness, Instance, Publisher, TransportAddr};
use ringmain_reactor::Address;

/// A registry without a thread: every endpoint is served by all that are present.
#[derive(Debug, Default)]
pub struct SimRegistry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    present: BTreeMap<InstanceId, Address>,
    publishers: BTreeMap<EndpointId, Publisher>,
}

impl SimRegistry {
    /// Adds an instance, or replaces its address.
    pub fn add(&self, instance: InstanceId, address: Address) {
        let mut state = self.state();
        state.present.insert(instance, address);
        state.publish();
    }

    /// Takes an instance out.
    pub fn remove(&self, instance: InstanceId) {
        let mut state = self.state();
        state.present.remove(&instance);
        state.publish();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn publish(&mut self) {
        for (endpoint, publisher) in &mut self.publishers {
            publisher.publish(instances(&self.present, endpoint), Freshness::Current);
        }
    }
}

fn instances(present: &BTreeMap<InstanceId, Address>, endpoint: &EndpointId) -> Vec<Arc<Instance>> {
    let instance = |(id, address): (&InstanceId, &Address)| {
        let address = match address {
            Address::Ip(address) => TransportAddr::Tcp(*address),
            Address::Unix(path) => TransportAddr::Unix(path.clone()),
        };
        Arc::new(Instance::new(*id, endpoint.clone(), vec![address]))
    };
    present.iter().map(instance).collect()
}

impl SnapshotSource for SimRegistry {
    fn watch(&self, endpoint: EndpointId) -> Watching {
        let mut state = self.state();
        let State {
            present,
            publishers,
        } = &mut *state;
        let publisher = publishers.entry(endpoint.clone()).or_insert_with(|| {
            let mut publisher = Publisher::new(endpoint.clone());
            publisher.publish(instances(present, &endpoint), Freshness::Current);
            publisher
        });
        let handle = publisher.handle();
        Box::pin(async move { Ok(handle) })
    }
}
