//! A driver under test and what the cases do with it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ringmain_reactor::driver::epoll::Epoll;
use ringmain_reactor::driver::uring::Uring;
use ringmain_reactor::{
    Address, DriverConfig, Event, ListenOptions, ListenerId, Reactor, SocketId, SocketOptions,
};

/// No case runs longer than this, however slow the machine.
const CASE_TIME_MAX: Duration = Duration::from_secs(60);

/// One turn waits at most this long, so that the case's limit is checked.
const TURN_TIME_MAX: Duration = Duration::from_millis(200);

/// Makes drivers of one kind.
pub(crate) trait Factory {
    type Driver: Reactor;

    /// Whether it has a submission and a completion queue.
    const HAS_QUEUES: bool;

    /// `None` where this host may lack the driver and does.
    fn make(config: &DriverConfig) -> Option<Self::Driver>;
}

pub(crate) struct UringFactory;

impl Factory for UringFactory {
    type Driver = Uring;

    const HAS_QUEUES: bool = true;

    fn make(config: &DriverConfig) -> Option<Uring> {
        match Uring::new(config) {
            Ok(driver) => Some(driver),
            Err(error) if std::env::var_os("RINGMAIN_ALLOW_NO_URING").is_some() => {
                eprintln!("NOT TESTED: io_uring is refused on this host: {error}");
                None
            }
            Err(error) => panic!(
                "io_uring is refused on this host ({error}), so its driver was not tested; \
                 RINGMAIN_ALLOW_NO_URING=1 lets that pass"
            ),
        }
    }
}

pub(crate) struct EpollFactory;

impl Factory for EpollFactory {
    type Driver = Epoll;

    const HAS_QUEUES: bool = false;

    fn make(config: &DriverConfig) -> Option<Epoll> {
        Some(Epoll::new(config).unwrap())
    }
}

/// A driver and the time its case has left.
pub(crate) struct Net<R> {
    pub(crate) driver: R,
    due: Instant,
}

impl<R: Reactor> Net<R> {
    pub(crate) fn new<F: Factory<Driver = R>>(config: &DriverConfig) -> Option<Self> {
        let driver = F::make(config)?;
        Some(Self {
            driver,
            due: Instant::now() + CASE_TIME_MAX,
        })
    }

    /// Turns until `pick` returns something; it sees each event once.
    pub(crate) fn until<T>(&mut self, mut pick: impl FnMut(&mut R, Event) -> Option<T>) -> T {
        loop {
            while let Some(event) = self.driver.next_event() {
                if let Some(found) = pick(&mut self.driver, event) {
                    return found;
                }
                self.check_buffers();
            }
            self.turn(TURN_TIME_MAX);
        }
    }

    /// One turn that waits at most `limit`.
    pub(crate) fn turn(&mut self, limit: Duration) {
        let now = Instant::now();
        assert!(
            now < self.due,
            "the case takes too long: {:?}",
            self.driver.stats()
        );
        self.driver.turn(Some(now + limit)).unwrap();
        self.check_buffers();
    }

    /// A few turns that do not wait, with no events expected.
    pub(crate) fn nothing_happens(&mut self) {
        for _ in 0..5 {
            self.turn(Duration::from_millis(1));
            if let Some(event) = self.driver.next_event() {
                unexpected(&event);
            }
        }
    }

    pub(crate) fn check_buffers(&self) {
        let stats = self.driver.stats();
        assert_eq!(stats.buffers_free + stats.buffers_held, stats.buffers_total);
    }

    pub(crate) fn listen(&mut self) -> (ListenerId, Address) {
        self.driver
            .listen(&local(), &ListenOptions::default())
            .unwrap()
    }

    pub(crate) fn connect(&mut self, address: &Address) -> SocketId {
        self.driver
            .connect(address, &SocketOptions::default())
            .unwrap()
    }

    /// Both ends of a connection, on this driver.
    pub(crate) fn pair_at(&mut self, address: &Address, options: &SocketOptions) -> Pair {
        let dialed = self.driver.connect(address, options).unwrap();
        let mut accepted = None;
        let mut connected = false;
        self.until(|driver, event| {
            match event {
                Event::Accepted { fd, .. } => accepted = Some(driver.adopt(fd, options).unwrap()),
                Event::Connected { socket } if socket == dialed => connected = true,
                other => unexpected(&other),
            }
            accepted.filter(|_| connected)
        });
        Pair {
            dialed,
            accepted: accepted.unwrap(),
        }
    }

    /// An adopted socket and the blocking stream at its other end.
    pub(crate) fn with_peer(&mut self, options: &SocketOptions) -> (SocketId, TcpStream) {
        let (ours, peer) = stream_pair();
        (self.driver.adopt(ours, options).unwrap(), peer)
    }

    /// The next events of `socket` are its bytes: takes `count` of them.
    pub(crate) fn receive(&mut self, socket: SocketId, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count);
        if count == 0 {
            return bytes;
        }
        self.until(|driver, event| match event {
            Event::Received { socket: from, buf } if from == socket => {
                bytes.extend_from_slice(driver.bytes(&buf));
                driver.recycle(buf);
                (bytes.len() >= count).then_some(())
            }
            Event::Sent { result, .. } => {
                result.unwrap();
                None
            }
            other => unexpected(&other),
        });
        bytes
    }

    /// Closes sockets and waits until each is gone; other events are dropped.
    pub(crate) fn close_all(&mut self, sockets: &[SocketId]) {
        for socket in sockets {
            self.driver.close(*socket);
        }
        let mut left = sockets.len();
        while left > 0 {
            left = self.until(|driver, event| match event {
                Event::Closed { .. } => Some(left - 1),
                Event::Received { buf, .. } => {
                    driver.recycle(buf);
                    None
                }
                _ => None,
            });
        }
    }

    /// Waits until nothing is left in flight.
    pub(crate) fn end(mut self) {
        while self.driver.in_flight() > 0 {
            self.turn(TURN_TIME_MAX);
            while let Some(event) = self.driver.next_event() {
                if let Event::Received { buf, .. } = event {
                    self.driver.recycle(buf);
                }
            }
        }
        let stats = self.driver.stats();
        assert_eq!(stats.buffers_held, 0, "buffers were lost");
        assert_eq!(stats.leaked, 0);
    }
}

/// Both ends of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) dialed: SocketId,
    pub(crate) accepted: SocketId,
}

/// A loopback address with a port of the kernel's choice.
pub(crate) fn local() -> Address {
    Address::Ip(SocketAddr::from(([127, 0, 0, 1], 0)))
}

/// Both ends of a connection outside any driver.
pub(crate) fn stream_pair() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    peer.set_nodelay(true).unwrap();
    (listener.accept().unwrap().0.into(), peer)
}

/// A blocking stream to a driver's listener.
pub(crate) fn dial(address: &Address) -> TcpStream {
    let Address::Ip(addr) = address else {
        panic!("{address} is no TCP address")
    };
    TcpStream::connect(addr).unwrap()
}

/// Bytes that differ by place and by `seed`.
pub(crate) fn pattern(seed: u32, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        })
        .collect()
}

/// Writes as much as a non-blocking stream takes; returns how much that was.
pub(crate) fn write_some(mut stream: &TcpStream, bytes: &[u8]) -> usize {
    match stream.write(bytes) {
        Ok(count) => count,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Reads what a non-blocking stream has; `None` at its end.
pub(crate) fn read_some(mut stream: &TcpStream, into: &mut Vec<u8>) -> Option<usize> {
    let mut chunk = [0; 4096];
    match stream.read(&mut chunk) {
        Ok(0) => None,
        Ok(count) => {
            into.extend_from_slice(&chunk[..count]);
            Some(count)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(0),
        Err(error) => panic!("{error}"),
    }
}

/// Fails because of an event that should not have come, without printing megabytes of it.
pub(crate) fn unexpected(event: &Event) -> ! {
    let mut text = format!("{event:?}");
    text.truncate(200);
    panic!("unexpected {text}");
}
