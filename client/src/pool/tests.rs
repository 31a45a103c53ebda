use std::task::Waker;
use std::time::Duration;

use ringmain_discovery::{Freshness, Publisher, TransportAddr};

use super::*;
use crate::call::Call;
use crate::error::ConnectErrorKind;
use crate::pick::Policy;
use crate::testing::{endpoint, id, instance};

const MS: Duration = Duration::from_millis(1);

struct Rig {
    pool: Pool<u32>,
    publisher: Publisher,
    now: Instant,
}

fn address(port: u16) -> TransportAddr {
    format!("10.0.0.1:{port}").parse().unwrap()
}

impl Rig {
    fn new(instances: &[u64]) -> Self {
        Self::with(instances, |_| {})
    }

    fn with(instances: &[u64], change: impl FnOnce(&mut PoolConfig)) -> Self {
        let mut config = PoolConfig::new(&ClientConfig::default(), 1);
        change(&mut config);
        let mut rig = Self {
            pool: Pool::new(config),
            publisher: Publisher::new(endpoint()),
            now: Instant::now(),
        };
        rig.pool
            .follow(&endpoint(), &rig.publisher.handle())
            .unwrap();
        rig.publish(&instances.iter().map(|&n| (n, 1)).collect::<Vec<_>>());
        rig
    }

    fn publish(&mut self, instances: &[(u64, u16)]) {
        let all = instances
            .iter()
            .map(|&(n, port)| instance(n, address(port)))
            .collect();
        self.publisher.publish(all, Freshness::Current);
    }

    fn request(direct: Option<u64>) -> Request {
        let mut call = Call::new("x");
        if let Some(direct) = direct {
            call = call.instance(id(direct));
        }
        call.prepare(&endpoint(), Instant::now(), false, Policy::RoundRobin)
            .unwrap()
    }

    fn choose(&mut self, tried: &[u64]) -> Option<(PeerKey, u64)> {
        let tried: Vec<_> = tried.iter().map(|&n| id(n)).collect();
        match self.pool.choose(self.now, &Self::request(None), &tried) {
            Ok(Chosen::Peer(peer, instance)) => Some((peer, instance.value())),
            Ok(other) => panic!("{other:?}"),
            Err(CallError::NoInstances { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    }

    fn wait(&mut self, peer: PeerKey) -> WaitKey {
        match self.pool.acquire(peer) {
            Ok(Acquired::Wait(wait)) => wait,
            other => panic!("{other:?}"),
        }
    }

    fn poll(&mut self, wait: WaitKey) -> Poll<Option<Result<u32, DialFailure>>> {
        self.pool
            .poll_wait(wait, &Context::from_waker(Waker::noop()))
    }

    /// Connects an instance through a dial.
    fn connect(&mut self, peer: PeerKey, link: u32) {
        let wait = self.wait(peer);
        let dial = self.pool.next_dial().unwrap();
        assert!(self.pool.dialed(dial.key, link));
        assert_eq!(self.poll(wait), Poll::Ready(Some(Ok(link))));
    }

    fn fail(&mut self, dial: &Dial) {
        self.pool.dial_failed(dial.key, &refused(), self.now);
    }
}

fn refused() -> DialFailure {
    DialFailure::new(ConnectErrorKind::Refused, "")
}

#[test]
fn calls_to_one_instance_share_one_dial() {
    let mut rig = Rig::new(&[1]);
    let (peer, _) = rig.choose(&[]).unwrap();
    let waits = [rig.wait(peer), rig.wait(peer), rig.wait(peer)];
    let dial = rig.pool.next_dial().unwrap();
    assert_eq!(dial.target.expected, Some(id(1)));
    assert!(rig.pool.next_dial().is_none());
    assert!(rig.poll(waits[0]).is_pending());
    rig.pool.cancel_wait(peer, waits[1]);
    assert!(rig.pool.dialed(dial.key, 5));
    assert_eq!(rig.pool.take_wakers().len(), 1);
    assert_eq!(rig.poll(waits[0]), Poll::Ready(Some(Ok(5))));
    assert_eq!(rig.poll(waits[1]), Poll::Ready(None));
    assert_eq!(rig.poll(waits[2]), Poll::Ready(Some(Ok(5))));
    assert_eq!(rig.pool.acquire(peer), Ok(Acquired::Ready(5)));
}

#[test]
fn links_per_instance_are_dialed_in_the_background_and_used_in_turn() {
    let mut rig = Rig::with(&[1], |config| config.links_per_instance = 2);
    let (peer, _) = rig.choose(&[]).unwrap();
    rig.connect(peer, 10);
    assert_eq!(rig.pool.acquire(peer), Ok(Acquired::Ready(10)));
    let dial = rig.pool.next_dial().unwrap();
    assert!(rig.pool.dialed(dial.key, 11));
    let links: Vec<_> = (0..4).map(|_| rig.pool.acquire(peer).unwrap()).collect();
    assert_eq!(
        links
            .iter()
            .filter(|link| **link == Acquired::Ready(11))
            .count(),
        2
    );
    assert!(rig.pool.next_dial().is_none());
}

#[test]
fn every_bound_refuses_by_name() {
    let mut rig = Rig::with(&[1, 2, 3], |config| {
        config.pending_calls_max = 3;
        config.dials_max = 1;
        config.links_max = 2;
    });
    let peers: Vec<_> = (0..3).map(|_| rig.choose(&[]).unwrap().0).collect();
    let limit = |result: Result<Acquired<u32>, CallError>| match result {
        Err(CallError::Overloaded { limit }) => limit,
        other => panic!("{other:?}"),
    };
    let first = rig.wait(peers[0]);
    rig.wait(peers[1]);
    assert_eq!(limit(rig.pool.acquire(peers[2])), "links_max");
    rig.wait(peers[1]);
    assert_eq!(limit(rig.pool.acquire(peers[1])), "pending_calls_max");
    let dial = rig.pool.next_dial().unwrap();
    assert!(rig.pool.next_dial().is_none(), "dials_max");
    rig.fail(&dial);
    assert_eq!(rig.poll(first), Poll::Ready(Some(Err(refused()))));
    assert!(rig.pool.next_dial().is_some());
}

#[test]
fn a_failed_instance_is_passed_over_until_a_probe_succeeds() {
    let mut rig = Rig::new(&[1, 2]);
    let (peer, _) = rig.choose(&[2]).unwrap();
    rig.wait(peer);
    let dial = rig.pool.next_dial().unwrap();
    rig.fail(&dial);
    assert_eq!(rig.pool.take_inhibited_total(), 1);
    for _ in 0..4 {
        assert_eq!(rig.choose(&[]).unwrap().1, 2);
    }
    assert!(rig.pool.next_dial().is_none(), "the pause is not over");
    rig.now += 100 * MS;
    assert_eq!(rig.choose(&[]).unwrap().1, 2);
    let probe = rig.pool.next_dial().unwrap();
    assert_eq!(probe.target.instance, id(1));
    rig.fail(&probe);
    rig.now += 150 * MS;
    assert_eq!(rig.choose(&[]).unwrap().1, 2);
    assert!(rig.pool.next_dial().is_none(), "the pause has doubled");
    rig.now += 50 * MS;
    rig.choose(&[]);
    let probe = rig.pool.next_dial().unwrap();
    assert!(rig.pool.dialed(probe.key, 9));
    let picked: Vec<_> = (0..4).map(|_| rig.choose(&[]).unwrap().1).collect();
    assert!(picked.contains(&1), "{picked:?}");
}

#[test]
fn if_all_are_set_aside_the_oldest_failure_is_asked_again() {
    let mut rig = Rig::new(&[1, 2, 3]);
    for n in [2, 3, 1] {
        let others: Vec<_> = [1, 2, 3].into_iter().filter(|&other| other != n).collect();
        let (peer, _) = rig.choose(&others).unwrap();
        rig.wait(peer);
        let dial = rig.pool.next_dial().unwrap();
        rig.fail(&dial);
        rig.now += MS;
    }
    assert_eq!(rig.choose(&[]).unwrap().1, 2);
    assert_eq!(rig.choose(&[2]).unwrap().1, 3);
    assert_eq!(rig.choose(&[2, 3]).unwrap().1, 1);
    assert_eq!(rig.choose(&[1, 2, 3]), None);
}

#[test]
fn a_changed_record_ends_inhibition_and_old_links() {
    let mut rig = Rig::new(&[1, 2]);
    let (first, _) = rig.choose(&[2]).unwrap();
    rig.wait(first);
    let dial = rig.pool.next_dial().unwrap();
    rig.fail(&dial);
    let (second, _) = rig.choose(&[1]).unwrap();
    rig.connect(second, 20);
    rig.publish(&[(1, 9), (2, 9)]);
    let picked: Vec<_> = (0..2).map(|_| rig.choose(&[]).unwrap().1).collect();
    assert_eq!(picked.iter().sum::<u64>(), 3, "{picked:?}");
    assert_eq!(rig.pool.next_retired(), Some(20));
    rig.wait(second);
    assert_eq!(rig.pool.next_dial().unwrap().target.addresses, [address(9)]);
    // A late word about the old link harms nobody.
    rig.pool.link_ended(second, &20, true, rig.now);
    assert_eq!(rig.pool.take_inhibited_total(), 1);
}

#[test]
fn a_record_that_changes_under_a_dial_is_dialed_again() {
    let mut rig = Rig::new(&[1]);
    let (peer, _) = rig.choose(&[]).unwrap();
    let wait = rig.wait(peer);
    let old = rig.pool.next_dial().unwrap();
    rig.publish(&[(1, 9)]);
    rig.choose(&[]).unwrap();
    assert!(!rig.pool.dialed(old.key, 1), "that address is history");
    assert!(rig.poll(wait).is_pending());
    let new = rig.pool.next_dial().unwrap();
    assert_eq!(new.target.addresses, [address(9)]);
    assert!(rig.pool.dialed(new.key, 2));
    assert_eq!(rig.poll(wait), Poll::Ready(Some(Ok(2))));
}

#[test]
fn metadata_changes_disturb_no_link() {
    let mut rig = Rig::new(&[1]);
    let (peer, _) = rig.choose(&[]).unwrap();
    rig.connect(peer, 1);
    let mut record = (*instance(1, address(1))).clone();
    record.metadata.insert("model".into(), "large".into());
    record.epoch = 2;
    rig.publisher
        .publish(vec![Arc::new(record)], Freshness::Current);
    assert_eq!(rig.choose(&[]).unwrap().0, peer);
    assert_eq!(rig.pool.next_retired(), None);
    assert_eq!(rig.pool.acquire(peer), Ok(Acquired::Ready(1)));
}

#[test]
fn a_lost_link_sets_aside_and_a_drained_one_leaves_quietly() {
    let mut rig = Rig::new(&[1]);
    let (peer, _) = rig.choose(&[]).unwrap();
    rig.connect(peer, 1);
    rig.pool.link_ended(peer, &1, false, rig.now);
    rig.pool.link_ended(peer, &1, true, rig.now);
    assert_eq!(rig.pool.take_inhibited_total(), 0);
    rig.connect(peer, 2);
    rig.pool.link_ended(peer, &2, true, rig.now);
    assert_eq!(rig.pool.take_inhibited_total(), 1);
}

#[test]
fn instances_that_leave_are_forgotten_and_their_links_retired() {
    let mut rig = Rig::new(&[1, 2]);
    let (first, _) = rig.choose(&[2]).unwrap();
    rig.connect(first, 1);
    rig.publish(&[(2, 1)]);
    assert_eq!(rig.choose(&[]).unwrap().1, 2);
    assert_eq!(rig.pool.next_retired(), Some(1));
    assert_eq!(rig.pool.acquire(first), Err(CallError::Closed));
    rig.publish(&[]);
    assert_eq!(rig.choose(&[]), None);
    assert_eq!(rig.pool.by_id.len(), 0);
    rig.publish(&[(1, 1)]);
    assert_eq!(rig.choose(&[]).unwrap().1, 1);
}

#[test]
fn a_call_that_names_its_instance_gets_it_or_nothing() {
    let mut rig = Rig::new(&[1, 2]);
    let (peer, _) = rig.choose(&[2]).unwrap();
    rig.wait(peer);
    let dial = rig.pool.next_dial().unwrap();
    rig.fail(&dial);
    for _ in 0..3 {
        let chosen = rig.pool.choose(rig.now, &Rig::request(Some(1)), &[]);
        assert!(matches!(chosen, Ok(Chosen::Peer(_, found)) if found == id(1)));
    }
    let chosen = rig.pool.choose(rig.now, &Rig::request(Some(9)), &[]);
    assert!(matches!(chosen, Err(CallError::UnknownInstance { .. })));
}

#[test]
fn nothing_read_yet_is_told_apart_from_nobody_there() {
    let mut pool = Pool::<u32>::new(PoolConfig::new(&ClientConfig::default(), 1));
    let request = Rig::request(None);
    let now = Instant::now();
    assert!(matches!(
        pool.choose(now, &request, &[]),
        Ok(Chosen::NotFollowed)
    ));
    let mut publisher = Publisher::new(endpoint());
    pool.follow(&endpoint(), &publisher.handle()).unwrap();
    assert!(matches!(
        pool.choose(now, &request, &[]),
        Ok(Chosen::NotRead(_))
    ));
    publisher.publish(Vec::new(), Freshness::Current);
    assert!(matches!(
        pool.choose(now, &request, &[]),
        Err(CallError::NoInstances { .. })
    ));
}
