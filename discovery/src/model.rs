//! What is known about one instance.

use std::{collections::BTreeMap, fmt, str::FromStr};

use ringmain_codec::{EndpointId, InstanceId};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::TransportAddr;

/// One process that serves one endpoint.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// The process; the same for all its endpoints and through every re-registration.
    #[serde(serialize_with = "show", deserialize_with = "parse")]
    pub id: InstanceId,
    /// Counts the registrations of this endpoint by this process. It only orders records of one id;
    /// links are never judged by it. What a caller sets is a floor: registering draws the next.
    pub epoch: u64,
    /// What is served.
    #[serde(serialize_with = "show", deserialize_with = "parse")]
    pub endpoint: EndpointId,
    /// Where; the server's order of preference. Several addresses are ways to the same process.
    pub addresses: Vec<TransportAddr>,
    /// Free text for those who choose, for example a model name. Changing it does not disturb
    /// links.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Share of picks relative to other instances; 0 asks for none.
    #[serde(default = "weight_default")]
    pub weight: u32,
    /// Streams it wants to serve at a time, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Whether `id` is the process's own.
    #[serde(skip)]
    pub identity: Identity,
}

/// Where an instance's id comes from.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub enum Identity {
    /// The process announced it; a peer that says otherwise is another process.
    #[default]
    Announced,
    /// A list gave addresses only; the id stands for them and says nothing about the process behind
    /// them.
    Derived,
}

impl Instance {
    /// Weight of an instance that says nothing.
    pub const WEIGHT_DEFAULT: u32 = 100;
    /// Most addresses of an instance.
    pub const ADDRESSES_MAX: usize = 16;
    /// Most metadata pairs.
    pub const METADATA_PAIRS_MAX: usize = 64;
    /// Most bytes of metadata, keys and values together.
    pub const METADATA_BYTES_MAX: usize = 8 * 1024;

    /// An instance at the given addresses, with no metadata and the default weight.
    #[must_use]
    pub fn new(id: InstanceId, endpoint: EndpointId, addresses: Vec<TransportAddr>) -> Self {
        Self {
            id,
            epoch: 0,
            endpoint,
            addresses,
            metadata: BTreeMap::new(),
            weight: Self::WEIGHT_DEFAULT,
            capacity: None,
            identity: Identity::Announced,
        }
    }

    /// The id that a dialer must find at the other end; `None` when any process will do.
    #[must_use]
    pub fn expected_id(&self) -> Option<InstanceId> {
        match self.identity {
            Identity::Announced => Some(self.id),
            Identity::Derived => None,
        }
    }

    /// Checks the rules that a record must keep to be routed to.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), InvalidInstance> {
        if self.addresses.is_empty() || self.addresses.len() > Self::ADDRESSES_MAX {
            return Err(InvalidInstance::AddressCount {
                count: self.addresses.len(),
            });
        }
        if let Some(address) = self.addresses.iter().find(|address| !address.is_dialable()) {
            return Err(InvalidInstance::NotDialable {
                address: address.clone(),
            });
        }
        let pairs = self.metadata.len();
        let bytes = self
            .metadata
            .iter()
            .map(|(key, value)| key.len() + value.len())
            .sum();
        if pairs > Self::METADATA_PAIRS_MAX || bytes > Self::METADATA_BYTES_MAX {
            return Err(InvalidInstance::MetadataTooLarge { pairs, bytes });
        }
        Ok(())
    }

    /// Whether both can be reached in the same ways, in whatever order.
    pub(crate) fn has_addresses_of(&self, other: &Self) -> bool {
        let covers = |one: &Self, other: &Self| {
            one.addresses
                .iter()
                .all(|address| other.addresses.contains(address))
        };
        covers(self, other) && covers(other, self)
    }
}

/// Why an instance cannot be registered or routed to.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidInstance {
    /// None, or too many.
    #[error("an instance has 1 to {max} addresses, not {count}", max = Instance::ADDRESSES_MAX)]
    AddressCount {
        /// How many there are.
        count: usize,
    },
    /// A wildcard, port 0 or a relative path.
    #[error(
        "nobody could dial `{address}`: it needs a concrete host and port, or an absolute socket path"
    )]
    NotDialable {
        /// The address.
        address: TransportAddr,
    },
    /// More metadata than a record may carry.
    #[error(
        "metadata of {pairs} pairs and {bytes} bytes is more than {} pairs or {} bytes",
        Instance::METADATA_PAIRS_MAX,
        Instance::METADATA_BYTES_MAX
    )]
    MetadataTooLarge {
        /// Number of pairs.
        pairs: usize,
        /// Keys and values together.
        bytes: usize,
    },
}

fn weight_default() -> u32 {
    Instance::WEIGHT_DEFAULT
}

/// Writes an id as its text.
pub(crate) fn show<T: fmt::Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Reads an id from its text.
pub(crate) fn parse<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?
        .parse()
        .map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(addresses: &[&str]) -> Instance {
        let addresses = addresses
            .iter()
            .map(|text| text.parse().expect(text))
            .collect();
        let id = InstanceId::new(7).expect("not zero");
        Instance::new(
            id,
            "prod.worker.generate".parse().expect("an id"),
            addresses,
        )
    }

    #[test]
    fn records_keep_their_shape() {
        let mut full = instance(&["10.0.0.7:7000", "unix:/run/x.sock"]);
        full.epoch = 3;
        full.metadata.insert("model".into(), "small".into());
        full.capacity = Some(256);
        let json = serde_json::to_string(&full).expect("json");
        let expect = r#"{"id":"0000000000000007","epoch":3,"endpoint":"prod.worker.generate","#
            .to_owned()
            + r#""addresses":["10.0.0.7:7000","unix:/run/x.sock"],"metadata":{"model":"small"},"weight":100,"#
            + r#""capacity":256}"#;
        assert_eq!(json, expect);
        assert_eq!(serde_json::from_str::<Instance>(&json).expect("back"), full);
        let least = r#"{"id":"0000000000000007","epoch":0,"endpoint":"prod.worker.generate","addresses":["h:1"]}"#;
        assert_eq!(
            serde_json::from_str::<Instance>(least).expect("least"),
            instance(&["h:1"])
        );
    }

    #[test]
    fn rules_are_checked() {
        assert_eq!(instance(&["h:1"]).check(), Ok(()));
        assert_eq!(
            instance(&[]).check(),
            Err(InvalidInstance::AddressCount { count: 0 })
        );
        assert!(matches!(
            instance(&["h:1"; 17]).check(),
            Err(InvalidInstance::AddressCount { count: 17 })
        ));
        for address in ["0.0.0.0:1", "[::]:1", "h:0", "10.0.0.1:0", "unix:x"] {
            let error = instance(&["h:1", address]).check().expect_err(address);
            assert!(error.to_string().contains(address), "{error}");
        }
        let mut large = instance(&["h:1"]);
        large
            .metadata
            .insert("k".into(), "v".repeat(Instance::METADATA_BYTES_MAX));
        assert!(matches!(
            large.check(),
            Err(InvalidInstance::MetadataTooLarge { pairs: 1, .. })
        ));
        large.metadata = (0..65).map(|n| (n.to_string(), String::new())).collect();
        assert!(matches!(
            large.check(),
            Err(InvalidInstance::MetadataTooLarge { pairs: 65, .. })
        ));
    }

    #[test]
    fn addresses_compare_as_sets() {
        assert!(instance(&["a:1", "b:1"]).has_addresses_of(&instance(&["b:1", "a:1"])));
        assert!(!instance(&["a:1", "b:1"]).has_addresses_of(&instance(&["a:1"])));
        assert!(!instance(&["a:1"]).has_addresses_of(&instance(&["a:1", "b:1"])));
    }
}
