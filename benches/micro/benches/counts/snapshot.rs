//! Reading who is there: 256 instances of one endpoint.

use std::hint::black_box;
use std::sync::Arc;

use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::{Freshness, Instance, Publisher};

use crate::Bench;
use crate::meter::counted;

const READS: usize = 1024;
const INSTANCES: u64 = 256;

pub(crate) const BENCHES: &[Bench] = &[
    Bench {
        name: "snapshot/load_cached",
        operations: READS,
        run: load_cached,
    },
    Bench {
        name: "snapshot/load_shared",
        operations: READS,
        run: load_shared,
    },
    Bench {
        name: "snapshot/find_256",
        operations: READS,
        run: find,
    },
];

/// Ids are drawn at random by those who bear them; here they are the same in each run.
fn id(number: u64) -> InstanceId {
    InstanceId::new((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap()
}

fn publish() -> Publisher {
    let endpoint: EndpointId = "prod.worker.generate".parse().unwrap();
    let instance = |number| {
        let address = format!("10.0.0.{number}:7000").parse().unwrap();
        Arc::new(Instance::new(id(number), endpoint.clone(), vec![address]))
    };
    let mut publisher = Publisher::new(endpoint.clone());
    publisher.publish((0..INSTANCES).map(instance).collect(), Freshness::Current);
    publisher
}

fn load_cached() {
    let publisher = publish();
    let mut reader = publisher.handle().reader();
    let mut all = || (0..READS).for_each(|_| _ = black_box(black_box(&mut reader).load()));
    all();
    counted(all);
    assert_eq!(reader.load().len() as u64, INSTANCES);
}

fn load_shared() {
    let publisher = publish();
    let handle = publisher.handle();
    let all = || (0..READS).for_each(|_| drop(black_box(black_box(&handle).load())));
    all();
    counted(all);
}

fn find() {
    let publisher = publish();
    let snapshot = publisher.handle().load();
    // Each instance four times, not in the order of the table.
    let wanted: Vec<_> = (0..READS as u64)
        .map(|at| id(at * 37 % INSTANCES))
        .collect();
    let all = || {
        let found = |id: &&InstanceId| black_box(snapshot.find(black_box(**id))).is_some();
        wanted.iter().filter(found).count()
    };
    assert_eq!(all(), READS);
    assert_eq!(counted(all), READS);
}
