//! Waiting, being woken, and not waiting.

use std::cell::Cell;
use std::time::{Duration, Instant};

use ringmain_reactor::{DriverConfig, IdlePolicy, Reactor, SocketOptions};

use crate::net::{Factory, Net, write_some};

/// Longer than any case may take, so that only a wake can end such a wait in time.
const LONG: Duration = Duration::from_secs(50);

pub(crate) fn from_another_thread<F: Factory>() {
    for msg_ring in [true, false] {
        let config = DriverConfig {
            msg_ring,
            ..DriverConfig::server()
        };
        let Some(mut net) = Net::new::<F>(&config) else {
            return;
        };
        let waker = net.driver.waker();
        // What a driver does to try its own waker is over.
        net.turn(Duration::ZERO);
        let (ask, asked) = std::sync::mpsc::sync_channel::<()>(0);
        let thread = std::thread::spawn(move || {
            while asked.recv().is_ok() {
                waker.wake();
            }
        });
        for _ in 0..200 {
            let wakes = net.driver.stats().wakes;
            ask.send(()).unwrap();
            // A turn may return early for another reason, but not for ever.
            while net.driver.stats().wakes == wakes {
                net.turn(LONG);
            }
            assert!(net.driver.next_event().is_none());
        }
        drop(ask);
        thread.join().unwrap();
        net.end();
    }
}

pub(crate) fn before_the_turn<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    net.turn(Duration::ZERO);
    for _ in 0..20 {
        let wakes = net.driver.stats().wakes;
        net.driver.waker().wake();
        net.turn(LONG);
        assert!(net.driver.stats().wakes > wakes, "the wake was lost");
    }
    net.end();
}

pub(crate) fn time_limit<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    net.turn(Duration::ZERO);
    for ms in [0, 1, 20] {
        let limit = Duration::from_millis(ms);
        let due = Instant::now() + limit;
        while Instant::now() < due {
            net.driver.turn(Some(due)).unwrap();
        }
        net.driver.turn(Some(due)).unwrap();
        assert!(net.driver.now() >= due);
    }
    let parks = net.driver.stats().parks;
    let past = net.driver.now();
    for _ in 0..100 {
        net.driver.turn(Some(past)).unwrap();
    }
    assert_eq!(
        net.driver.stats().parks,
        parks,
        "a turn in the past does not wait"
    );
    net.end();
}

pub(crate) fn spinning<F: Factory>() {
    for idle in [
        IdlePolicy::Park,
        IdlePolicy::Adaptive { spin_us: 200 },
        IdlePolicy::Spin,
    ] {
        let config = DriverConfig {
            idle,
            ..DriverConfig::server()
        };
        let Some(mut net) = Net::new::<F>(&config) else {
            return;
        };
        let (socket, peer) = net.with_peer(&SocketOptions::default());
        for _ in 0..50 {
            write_some(&peer, b"x");
            if !net.driver.spin(None, &|| false) {
                net.turn(Duration::from_millis(1));
            }
            assert_eq!(net.receive(socket, 1), b"x");
        }
        let asked = Cell::new(0);
        assert!(
            net.driver.spin(None, &|| {
                asked.set(asked.get() + 1);
                true
            }),
            "mail ends a spin"
        );
        assert!(asked.get() > 0);
        net.close_all(&[socket]);
        net.end();
    }
}
