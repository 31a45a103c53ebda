//! Two connections in virtual time: a dialer and an acceptor with a wire of a given latency and
//! split between them. Used by the tests and by the fuzz target `operations`.

use std::time::{Duration, Instant};

use ringmain_codec::{
    Config, ConnectionState, EndParams, InstanceId, Metadata, OpenParams, Priority, RequestId,
    Status, StreamHandle,
};

pub(crate) use crate::side::{Note, Side, Split};

pub(crate) const INSTANCE: u64 = 0x1234;

pub(crate) struct Pair {
    pub(crate) dialer: Side,
    pub(crate) acceptor: Side,
    pub(crate) now: Instant,
    pub(crate) latency: Duration,
}

impl Pair {
    /// Two connections before their handshake.
    pub(crate) fn unconnected(dialer: Config, acceptor: Config) -> Self {
        let now = Instant::now();
        Self {
            dialer: Side::new(dialer, now),
            acceptor: Side::new(acceptor, now),
            now,
            latency: Duration::from_millis(1),
        }
    }

    /// Two connections after it.
    pub(crate) fn connected(dialer: Config, acceptor: Config) -> Self {
        let mut pair = Self::unconnected(dialer, acceptor);
        pair.settle();
        assert_eq!(pair.dialer.take_notes(), [Note::Ready]);
        assert_eq!(pair.acceptor.take_notes(), [Note::Ready]);
        pair
    }

    pub(crate) fn new() -> Self {
        Self::connected(Config::dialer(None), acceptor_config())
    }

    /// Moves what both sides have to send onto the wire.
    pub(crate) fn transmit(&mut self) -> bool {
        let at = self.now + self.latency;
        let to_acceptor = self.dialer.transmit_all(self.now);
        let to_dialer = self.acceptor.transmit_all(self.now);
        let moved = !to_acceptor.is_empty() || !to_dialer.is_empty();
        self.acceptor
            .wire
            .extend(to_acceptor.into_iter().map(|bytes| (at, bytes)));
        self.dialer
            .wire
            .extend(to_dialer.into_iter().map(|bytes| (at, bytes)));
        moved
    }

    /// Puts bytes that a direct send wrote onto the wire.
    pub(crate) fn put_on_wire(&mut self, from_acceptor: bool, bytes: Vec<u8>) {
        let to = if from_acceptor {
            &mut self.dialer
        } else {
            &mut self.acceptor
        };
        to.wire.push_back((self.now + self.latency, bytes));
    }

    /// Gives each side the next bytes that have reached it.
    pub(crate) fn deliver(&mut self) -> bool {
        let mut moved = false;
        for side in [&mut self.dialer, &mut self.acceptor] {
            if let Some((_, bytes)) = side.wire.pop_front_if(|(at, _)| *at <= self.now) {
                side.feed(self.now, &bytes);
                moved = true;
            }
        }
        moved
    }

    /// Goes on, through time, until nothing moves any more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..1_000_000 {
            if self.transmit() | self.deliver() {
                continue;
            }
            let next = [&self.dialer, &self.acceptor]
                .into_iter()
                .filter_map(|side| side.wire.front().map(|(at, _)| *at))
                .min();
            match next {
                Some(at) => self.now = self.now.max(at),
                None => return,
            }
        }
        panic!("the pair does not settle");
    }

    /// Opens a stream with a request that is the whole input.
    pub(crate) fn open(&mut self, request: &[u8]) -> StreamHandle {
        self.open_input(Some(request), true)
    }

    pub(crate) fn open_input(&mut self, request: Option<&[u8]>, end_request: bool) -> StreamHandle {
        let request = request.map(<[u8]>::to_vec);
        self.dialer
            .connection
            .open(self.now, &params(), request, end_request)
            .unwrap()
    }

    /// The acceptor's handle of a stream.
    pub(crate) fn peer(&self, stream: StreamHandle) -> StreamHandle {
        self.acceptor.handles[&stream.id.value()]
    }

    pub(crate) fn end(&mut self, stream: StreamHandle, status: Status) {
        let stream = self.peer(stream);
        self.acceptor.connection.end(stream, EndParams::new(status));
    }

    /// Ends all streams, lets everything through, and checks that no credit is lost.
    pub(crate) fn finish_and_audit(&mut self) {
        self.dialer.releases = true;
        self.acceptor.releases = true;
        self.settle();
        for stream in self.acceptor.handles.clone().into_values() {
            self.acceptor
                .connection
                .end(stream, EndParams::new(Status::Ok));
        }
        self.dialer.release_held();
        self.acceptor.release_held();
        self.settle();
        assert_eq!(
            self.dialer.connection.streams_open(),
            0,
            "all streams are over"
        );
        assert_eq!(
            self.acceptor.connection.streams_open(),
            0,
            "all streams are over"
        );
        self.audit();
    }

    /// With nothing in flight and no stream open, every byte of credit is accounted for.
    pub(crate) fn audit(&self) {
        let sides = [
            (&self.dialer.connection, &self.acceptor.connection),
            (&self.acceptor.connection, &self.dialer.connection),
        ];
        for (sender, receiver) in sides {
            assert_ne!(sender.state(), ConnectionState::Closed);
            let (sent, received) = (sender.credit_audit(), receiver.credit_audit());
            let (ours, theirs) = (sent.connection_sent, received.connection_received);
            assert_eq!(
                (ours.granted, ours.used),
                (theirs.granted, theirs.used),
                "connection"
            );
            assert_eq!(
                theirs.used, theirs.returned,
                "connection credit is returned in full"
            );
            let (ours, theirs) = (sent.streams_sent, received.streams_received);
            assert_eq!(ours.granted, ours.used + ours.expired, "sender {ours:?}");
            assert_eq!(
                theirs.granted,
                theirs.used + theirs.expired,
                "receiver {theirs:?}"
            );
            assert_eq!(theirs.used, theirs.returned, "receiver {theirs:?}");
            assert_eq!(received.streams_held, 0);
        }
    }
}

pub(crate) fn instance() -> InstanceId {
    InstanceId::new(INSTANCE).unwrap()
}

pub(crate) fn acceptor_config() -> Config {
    Config::acceptor(instance())
}

/// Configurations with the given windows on both sides.
pub(crate) fn windows(stream: u32, connection: u32) -> (Config, Config) {
    let (mut dialer, mut acceptor) = (Config::dialer(None), acceptor_config());
    for config in [&mut dialer, &mut acceptor] {
        config.limits.stream_window = stream;
        config.limits.connection_window = connection;
        config.window_growth_bytes_max = 0;
    }
    (dialer, acceptor)
}

pub(crate) fn params() -> OpenParams<'static> {
    OpenParams {
        request_id: RequestId([7; 16]),
        deadline: None,
        priority: Priority::Middle,
        trace: None,
        endpoint: "prod.worker.generate",
        metadata: Metadata::EMPTY,
    }
}

/// Bytes that tell their place.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| u8::try_from(at % 251).unwrap_or(0))
        .collect()
}
