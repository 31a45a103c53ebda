//! Reactors on a simulated network, run until nothing happens any more.

use std::time::Duration;

use ringmain_reactor::driver::sim::{SimConfig, SimNet, SimReactor};
use ringmain_reactor::{
    Address, Event, ListenOptions, ListenerId, Reactor, SocketId, SocketOptions,
};

/// More turns than any case takes; a run that never rests must fail, not hang.
const ROUNDS_MAX: usize = 1_000_000;

pub(crate) struct Hosts {
    pub(crate) net: SimNet,
    pub(crate) reactors: Vec<SimReactor>,
}

impl Hosts {
    /// Hosts named "0", "1" and so on.
    pub(crate) fn new(seed: u64, config: SimConfig, count: usize) -> Self {
        let net = SimNet::new(seed, config);
        let reactors = (0..count)
            .map(|index| net.reactor(&index.to_string()))
            .collect();
        Self { net, reactors }
    }

    pub(crate) fn listen(&mut self, host: usize) -> (ListenerId, Address) {
        let any = "10.0.0.1:0".parse().unwrap();
        self.reactors[host]
            .listen(&any, &ListenOptions::default())
            .unwrap()
    }

    pub(crate) fn connect(&mut self, host: usize, address: &Address) -> SocketId {
        self.reactors[host]
            .connect(address, &SocketOptions::default())
            .unwrap()
    }

    /// Host 0 dials host 1; both ends, once connected and adopted.
    pub(crate) fn pair(&mut self) -> (SocketId, SocketId) {
        let (listener, address) = self.listen(1);
        let dialed = self.connect(0, &address);
        let mut accepted = None;
        self.settle(|_, reactor, event| match event {
            Event::Accepted { fd, .. } => {
                accepted = Some(reactor.adopt(fd, &SocketOptions::default()).unwrap());
            }
            Event::Connected { .. } => {}
            other => panic!("{other:?}"),
        });
        self.reactors[1].unlisten(listener);
        (dialed, accepted.unwrap())
    }

    /// Turns every reactor and moves time until nothing is left to happen.
    pub(crate) fn settle(&mut self, mut handle: impl FnMut(usize, &mut SimReactor, Event)) {
        for _ in 0..ROUNDS_MAX {
            for (host, reactor) in self.reactors.iter_mut().enumerate() {
                reactor.turn(None).unwrap();
                while let Some(event) = reactor.next_event() {
                    handle(host, reactor, event);
                }
                let stats = reactor.stats();
                assert_eq!(stats.buffers_free + stats.buffers_held, stats.buffers_total);
            }
            if !self.net.step() {
                return;
            }
        }
        panic!("seed {} never comes to rest", self.net.seed());
    }

    /// [`settle`](Self::settle), returning all events but received bytes, which are collected
    /// by host.
    pub(crate) fn events(&mut self) -> (Vec<(usize, Event)>, Vec<Vec<u8>>) {
        let mut events = Vec::new();
        let mut bytes = vec![Vec::new(); self.reactors.len()];
        self.settle(|host, reactor, event| match event {
            Event::Received { buf, .. } => {
                bytes[host].extend_from_slice(reactor.bytes(&buf));
                reactor.recycle(buf);
            }
            other => events.push((host, other)),
        });
        (events, bytes)
    }
}

/// Bytes that tell their stream and their place.
pub(crate) fn pattern(stream: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|place| (stream.wrapping_mul(31) ^ place.wrapping_mul(7) >> 1) as u8)
        .collect()
}

pub(crate) fn config_with_delay(delay: Duration) -> SimConfig {
    SimConfig {
        delay_min: delay,
        delay_max: delay,
        ..SimConfig::calm()
    }
}
