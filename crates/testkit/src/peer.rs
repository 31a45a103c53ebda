//! A dialer made by hand on a blocking socket.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use ringmain_codec::{
    Config, Connection, ConnectionError, Event, Metadata, OpenError, OpenParams, OutBuf, Priority,
    RequestId, Started, Status, StreamHandle, Transmit,
};
use ringmain_reactor::Address;

/// How long one read waits: a bound on hanging.
const READ_WAIT: Duration = Duration::from_secs(10);

/// What a peer saw, with its bytes copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Handshake done.
    Ready,
    /// The handler was called.
    Accepted(StreamHandle),
    /// One piece of a message.
    Data(StreamHandle, Vec<u8>, bool),
    /// The terminal.
    End(StreamHandle, Status, Started, String),
    /// No new streams.
    Goaway(Status),
    /// A stream that the peer never took.
    Refused(StreamHandle),
    /// Anything else.
    Other,
}

/// A dialer under a test's control: protocol state of its own, a plain socket, no thread.
#[derive(Debug)]
pub struct RawPeer {
    /// Protocol state.
    pub connection: Connection<Vec<u8>>,
    /// The socket.
    pub socket: TcpStream,
    out: Vec<u8>,
    pending: Vec<u8>,
    ended: bool,
}

impl RawPeer {
    /// Connects without a word.
    ///
    /// # Panics
    ///
    /// When the address is no TCP address or refuses.
    pub fn connect(address: &Address) -> Self {
        Self::with(address, Config::dialer(None))
    }

    /// Connects with a configuration of the test's own.
    ///
    /// # Panics
    ///
    /// When the address is no TCP address or refuses.
    pub fn with(address: &Address, config: Config) -> Self {
        let Address::Ip(address) = address else {
            panic!("a raw peer dials TCP")
        };
        let socket = match TcpStream::connect(address) {
            Ok(socket) => socket,
            Err(error) => panic!("connect: {error}"),
        };
        let options = [
            socket.set_read_timeout(Some(READ_WAIT)),
            socket.set_nodelay(true),
        ];
        assert!(options.iter().all(Result::is_ok), "{options:?}");
        Self {
            connection: Connection::new(config, Instant::now()),
            socket,
            out: Vec::with_capacity(64 * 1024),
            pending: Vec::new(),
            ended: false,
        }
    }

    /// Connects and shakes hands.
    ///
    /// # Panics
    ///
    /// When the handshake does not complete.
    pub fn ready(address: &Address) -> Self {
        let mut peer = Self::connect(address);
        peer.flush();
        assert_eq!(peer.look(), Ok(Some(Seen::Ready)));
        peer
    }

    /// Opens a stream and flushes.
    ///
    /// # Errors
    ///
    /// What the codec says.
    pub fn open(&mut self, endpoint: &str, data: &[u8]) -> Result<StreamHandle, OpenError> {
        let opened = self.prepare(endpoint, data);
        self.flush();
        opened
    }

    /// Opens a stream and leaves its OPEN to be sent.
    ///
    /// # Errors
    ///
    /// What the codec says.
    pub fn prepare(&mut self, endpoint: &str, data: &[u8]) -> Result<StreamHandle, OpenError> {
        let params = OpenParams {
            request_id: RequestId([7; 16]),
            deadline: None,
            priority: Priority::default(),
            trace: None,
            endpoint,
            metadata: Metadata::default(),
        };
        self.connection
            .open(Instant::now(), &params, Some(data.to_vec()), true)
    }

    /// Writes everything the protocol has to say. A peer that has hung up is noticed by reading.
    pub fn flush(&mut self) {
        loop {
            let bytes = self.transmit();
            if bytes.is_empty() || self.write(&bytes).is_err() {
                return;
            }
        }
    }

    /// What the protocol has to say, for a test that sends it its own way.
    pub fn transmit(&mut self) -> Vec<u8> {
        self.out.clear();
        let limit = self.out.capacity();
        let mut out = OutBuf::new(&mut self.out, limit);
        let _more: Transmit = self.connection.poll_transmit(Instant::now(), &mut out);
        self.out.clone()
    }

    /// Sends raw bytes.
    ///
    /// # Errors
    ///
    /// The peer has hung up.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// The next thing that happens; `None` once the peer has closed.
    ///
    /// # Errors
    ///
    /// What the codec makes of the peer's bytes.
    ///
    /// # Panics
    ///
    /// When nothing arrives for long.
    pub fn look(&mut self) -> Result<Option<Seen>, ConnectionError> {
        loop {
            if let Some(seen) = self.parse()? {
                return Ok(Some(seen));
            }
            if self.ended {
                return Ok(None);
            }
            let mut chunk = [0; 16 * 1024];
            match self.socket.read(&mut chunk) {
                Ok(0) => self.ended = true,
                Ok(len) => self.pending.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    panic!("nothing arrived for {READ_WAIT:?}")
                }
                Err(_) => self.ended = true,
            }
            self.flush();
        }
    }

    /// Reads until `wanted`, which must come before the peer closes.
    ///
    /// # Panics
    ///
    /// When the connection ends first.
    pub fn until(&mut self, mut wanted: impl FnMut(&Seen) -> bool) -> Seen {
        loop {
            match self.look() {
                Ok(Some(seen)) if wanted(&seen) => return seen,
                Ok(Some(_)) => {}
                ended => panic!("the connection ended first: {ended:?}"),
            }
        }
    }

    /// Reads a stream to its terminal; its bytes and the terminal.
    ///
    /// # Panics
    ///
    /// When the connection ends first.
    pub fn answer(&mut self, stream: StreamHandle) -> (Vec<u8>, Status, Started) {
        let mut bytes = Vec::new();
        loop {
            match self.look() {
                Ok(Some(Seen::Data(of, piece, _))) if of == stream => bytes.extend(piece),
                Ok(Some(Seen::End(of, status, started, _))) if of == stream => {
                    return (bytes, status, started);
                }
                Ok(Some(_)) => {}
                ended => panic!("the connection ended first: {ended:?}"),
            }
        }
    }

    /// Waits until the peer has closed, whatever it says before that.
    ///
    /// # Panics
    ///
    /// When it stays open.
    pub fn until_closed(&mut self) {
        while let Ok(Some(_)) = self.look() {}
        // After a protocol error of the peer's the socket may still hold bytes.
        let mut rest = [0; 16 * 1024];
        while !self.ended {
            match self.socket.read(&mut rest) {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    panic!("the peer stays open")
                }
                Err(_) => self.ended = true,
            }
        }
    }

    fn parse(&mut self) -> Result<Option<Seen>, ConnectionError> {
        let pending = std::mem::take(&mut self.pending);
        let mut chunk = pending.as_slice();
        let mut release = None;
        let seen = self
            .connection
            .read(Instant::now(), &mut chunk)?
            .map(|event| match event {
                Event::Ready => Seen::Ready,
                Event::Accepted { stream } => Seen::Accepted(stream),
                Event::Data {
                    stream,
                    piece,
                    message_end,
                    credit,
                    ..
                } => {
                    release = Some((stream, credit));
                    Seen::Data(stream, piece.to_vec(), message_end)
                }
                Event::End {
                    stream,
                    end,
                    started,
                } => Seen::End(stream, end.status, started, end.message.to_owned()),
                Event::Goaway { status, .. } => Seen::Goaway(status),
                Event::StreamRefused { stream, .. } => Seen::Refused(stream),
                _ => Seen::Other,
            });
        self.pending = chunk.to_vec();
        if let Some((stream, credit)) = release {
            self.connection.release(stream, credit);
            self.flush();
        }
        Ok(seen)
    }
}
