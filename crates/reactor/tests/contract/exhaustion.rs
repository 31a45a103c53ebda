//! Descriptors, slots and queue entries that run out.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use ringmain_reactor::{DriverConfig, Event, Reactor, SocketOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::child;
use crate::net::{Factory, Net, dial, pattern, stream_pair, unexpected};

pub(crate) fn out_of_descriptors<F: Factory>() {
    child::alone(|| {
        let backoff = Duration::from_millis(20);
        let config = DriverConfig {
            accept_backoff: backoff,
            ..DriverConfig::server()
        };
        let Some(mut net) = Net::new::<F>(&config) else {
            return;
        };
        let (listener, address) = net.listen();
        // These wait in the kernel's queue while no descriptor is left for them.
        let clients: Vec<_> = (0..10).map(|_| dial(&address)).collect();
        let old = getrlimit(Resource::Nofile);
        let limit = Rlimit {
            current: Some(3),
            maximum: old.maximum,
        };
        setrlimit(Resource::Nofile, limit).unwrap();
        let start = Instant::now();
        let mut accepted = Vec::new();
        let mut failed = 0;
        let mut turns = 0;
        while failed < 5 {
            turns += 1;
            net.turn(Duration::from_secs(1));
            while let Some(event) = net.driver.next_event() {
                match event {
                    Event::Accepted { fd, .. } => accepted.push(fd),
                    Event::AcceptFailed { error, .. } => {
                        assert_eq!(error.raw_os_error(), Some(libc_emfile()));
                        failed += 1;
                    }
                    other => unexpected(&other),
                }
            }
        }
        // One failure, then one for each pause: no spinning.
        assert!(start.elapsed() >= backoff * 4);
        assert!(turns < 30, "{turns} turns");
        assert!(net.driver.stats().accepts_backed_off >= 5);
        setrlimit(Resource::Nofile, old).unwrap();
        while accepted.len() < clients.len() {
            accepted.push(net.until(|_, event| match event {
                Event::Accepted { fd, .. } => Some(fd),
                Event::AcceptFailed { .. } => None,
                other => unexpected(&other),
            }));
        }
        net.driver.unlisten(listener);
        net.end();
    });
}

fn libc_emfile() -> i32 {
    rustix::io::Errno::MFILE.raw_os_error()
}

pub(crate) fn out_of_slots<F: Factory>() {
    let config = DriverConfig {
        sockets_max: 2,
        ..DriverConfig::server()
    };
    let Some(mut net) = Net::new::<F>(&config) else {
        return;
    };
    let (one, _peer_one) = net.with_peer(&SocketOptions::default());
    let (two, _peer_two) = net.with_peer(&SocketOptions::default());
    let (third, _peer_three) = stream_pair();
    let spare = third.try_clone().unwrap();
    assert!(net.driver.adopt(third, &SocketOptions::default()).is_err());
    assert_eq!(net.driver.stats().sockets_refused, 1);
    net.close_all(&[one]);
    let again = net.driver.adopt(spare, &SocketOptions::default()).unwrap();
    net.close_all(&[two, again]);
    net.end();
}

/// Sends on many sockets at once and checks that each byte arrives.
fn burst<F: Factory>(config: &DriverConfig) -> Option<ringmain_reactor::IoStats> {
    const SOCKETS: usize = 64;
    let mut net = Net::new::<F>(config)?;
    let (listener, address) = net.listen();
    let dialed: HashSet<_> = (0..SOCKETS).map(|_| net.connect(&address)).collect();
    let mut all = Vec::new();
    let mut echoed = 0;
    let bytes = pattern(5, 100);
    // All connect, send and receive at the same time, for three rounds.
    net.until(|driver, event| {
        match event {
            Event::Accepted { fd, .. } => {
                all.push(driver.adopt(fd, &SocketOptions::default()).unwrap());
            }
            Event::Connected { socket } => {
                all.push(socket);
                driver.send(socket, bytes.clone());
            }
            Event::Received { socket, buf } => {
                assert_eq!(driver.bytes(&buf), bytes);
                driver.recycle(buf);
                echoed += usize::from(dialed.contains(&socket));
                if !dialed.contains(&socket) || echoed <= 2 * SOCKETS {
                    driver.send(socket, bytes.clone());
                }
            }
            Event::Sent { result, .. } => result.unwrap(),
            other => unexpected(&other),
        }
        (echoed == 3 * SOCKETS).then_some(())
    });
    net.close_all(&all);
    let stats = net.driver.stats().clone();
    net.driver.unlisten(listener);
    net.end();
    Some(stats)
}

pub(crate) fn tiny_queues<F: Factory>() {
    let config = DriverConfig {
        sq_entries: 2,
        cq_entries: 4,
        recv_buffers: 256,
        ..DriverConfig::server()
    };
    let Some(stats) = burst::<F>(&config) else {
        return;
    };
    // Drivers without such queues count nothing.
    let counted = stats.sq_full > 0 && stats.cq_overflow > 0;
    assert_eq!(counted, F::HAS_QUEUES, "{stats:?}");
}

pub(crate) fn cut_turns<F: Factory>() {
    let config = DriverConfig {
        events_per_turn_max: 3,
        ..DriverConfig::server()
    };
    let Some(stats) = burst::<F>(&config) else {
        return;
    };
    assert!(stats.turns_cut > 0, "{stats:?}");
}
