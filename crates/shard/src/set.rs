//! All shards of a process.

mod starting;

use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ringmain_reactor::{
    Address, DriverConfig, IoChoice, IoKind, ListenOptions, ProbeError, SocketOptions,
};
use ringmain_telemetry::Telemetry;

use self::starting::Starting;
use crate::clock::Clock;
use crate::mailboxes::ShardHandle;
use crate::message::{ListenRequest, ShardMessage};
use crate::roles::LinkAcceptor;

/// How long a listener may take to open before the caller is told.
const LISTEN_WAIT: Duration = Duration::from_secs(5);

/// What a set of shards is started with.
#[derive(Clone, Debug)]
pub struct ShardSetConfig {
    /// Which driver; `Auto` falls back to epoll and says why.
    pub io: IoChoice,
    /// One shard per entry: the CPU it is pinned to, if any.
    pub cores: Vec<Option<usize>>,
    /// Rings and buffers of each shard.
    pub driver: DriverConfig,
    /// Options of every socket, accepted or dialed.
    pub socket: SocketOptions,
    /// Items a shard's mailbox holds; past it the sender is refused.
    pub mailbox_max: usize,
}

impl Default for ShardSetConfig {
    fn default() -> Self {
        Self {
            io: IoChoice::Auto,
            cores: vec![None],
            driver: DriverConfig::default(),
            socket: SocketOptions::default(),
            mailbox_max: 16 * 1024,
        }
    }
}

/// The pinned threads of a process, each with its reactor and executor.
///
/// Servers and clients are roles that plug into one set, so that a router's ingress and egress
/// share it. Dropping the set stops the shards with a short deadline.
pub struct ShardSet {
    handles: Arc<[ShardHandle]>,
    threads: Mutex<Vec<JoinHandle<io::Result<()>>>>,
    telemetry: Arc<Telemetry>,
    io: IoKind,
    fallback: Option<String>,
    clock: Clock,
}

/// Why a set could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The driver that was asked for cannot run here.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A shard's driver or thread could not be made.
    #[error("shard {shard}: {source}")]
    Shard {
        /// Which shard.
        shard: usize,
        /// Why.
        source: io::Error,
    },
}

impl ShardSet {
    /// Starts one thread per entry of `config.cores` and waits until each has its driver.
    ///
    /// # Errors
    ///
    /// No driver can run here, or a thread or driver could not be made; none is left running.
    pub fn start(config: &ShardSetConfig) -> Result<Self, StartError> {
        let resolved = config.io.resolve()?;
        let shards = config.cores.len().max(1);
        let telemetry = Telemetry::new(shards);
        let mut starting = Vec::new();
        for index in 0..shards {
            let core = config.cores.get(index).copied().flatten();
            starting.push(Starting::spawn(
                resolved.kind,
                index,
                core,
                config,
                &telemetry,
            )?);
        }
        let mut handles = Vec::new();
        for (shard, start) in starting.iter().enumerate() {
            match start.handle.recv() {
                Ok(Ok(handle)) => handles.push(handle),
                Ok(Err(source)) => return Err(StartError::Shard { shard, source }),
                Err(_) => {
                    let source = io::Error::other("the thread ended while it started");
                    return Err(StartError::Shard { shard, source });
                }
            }
        }
        let handles: Arc<[ShardHandle]> = handles.into();
        let mut threads = Vec::new();
        for start in starting {
            // A thread that is gone is found when it is joined.
            drop(start.peers.send(Arc::clone(&handles)));
            threads.push(start.thread);
        }
        let (io, fallback) = (resolved.kind, resolved.reason);
        Ok(Self::assemble(
            handles,
            threads,
            telemetry,
            io,
            fallback,
            Clock::default(),
        ))
    }

    pub(crate) const fn assemble(
        handles: Arc<[ShardHandle]>,
        threads: Vec<JoinHandle<io::Result<()>>>,
        telemetry: Arc<Telemetry>,
        io: IoKind,
        fallback: Option<String>,
        clock: Clock,
    ) -> Self {
        Self {
            handles,
            threads: Mutex::new(threads),
            telemetry,
            io,
            fallback,
            clock,
        }
    }

    /// Handles of all shards.
    pub const fn handles(&self) -> &Arc<[ShardHandle]> {
        &self.handles
    }

    /// Counters and gauges of all shards.
    pub const fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// The driver in use.
    pub const fn io(&self) -> IoKind {
        self.io
    }

    /// Why io_uring is not in use, when `Auto` fell back.
    pub fn fallback_reason(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// The time that the shards go by.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether the shards have no threads, but are turned by whoever made the set.
    pub const fn is_manual(&self) -> bool {
        self.clock.is_turned()
    }

    /// Opens a listener on the first shard, which spreads connections over all of them; returns
    /// the address really bound. Blocks until it is open; not for use on a shard.
    ///
    /// # Errors
    ///
    /// The operating system's error of bind or listen, or the shard has stopped; `Unsupported` on
    /// a set that is turned by hand, which would wait for itself.
    pub fn listen(
        &self,
        address: &Address,
        options: &ListenOptions,
        acceptor: Arc<dyn LinkAcceptor>,
    ) -> io::Result<Address> {
        if self.is_manual() {
            let text = "a set that is turned by hand listens with begin_listen";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        self.begin_listen(address, options, acceptor)?.wait()
    }

    /// As [`listen`](Self::listen), without waiting.
    ///
    /// # Errors
    ///
    /// The shard has stopped or its mailbox is full.
    pub fn begin_listen(
        &self,
        address: &Address,
        options: &ListenOptions,
        acceptor: Arc<dyn LinkAcceptor>,
    ) -> io::Result<Listening> {
        let (reply, answer) = sync_channel(1);
        let request = ListenRequest {
            address: address.clone(),
            options: options.clone(),
            acceptor,
            reply,
        };
        self.handles[0]
            .post(ShardMessage::Listen(Box::new(request)))
            .map_err(|_| io::Error::other("the shard has stopped or its mailbox is full"))?;
        Ok(Listening { answer })
    }

    /// Closes every listener; connections stay.
    pub fn unlisten(&self) {
        for handle in self.handles.iter() {
            // A stopped shard has closed its listeners already.
            drop(handle.post(ShardMessage::Unlisten));
        }
    }

    /// Says goodbye on every link, flushes, closes, and ends the threads, at the latest after
    /// `within`. Blocks, though not for the shard it is called on; shards that are turned by hand
    /// are only told.
    ///
    /// # Errors
    ///
    /// The first driver failure that ended a shard early.
    pub fn stop(&self, within: Duration) -> io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for handle in self.handles.iter() {
            // A closed mailbox means that the thread has ended.
            drop(handle.post_assured(ShardMessage::Stop { within }));
        }
        let mut first = Ok(());
        let here = std::thread::current().id();
        for thread in threads.drain(..) {
            // The last owner may be a task of this shard, which ends after its turn.
            if thread.thread().id() == here {
                continue;
            }
            let outcome = thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("shard panicked")));
            if first.is_ok() {
                first = outcome;
            }
        }
        first
    }
}

impl Drop for ShardSet {
    fn drop(&mut self) {
        if let Err(error) = self.stop(Duration::from_secs(1)) {
            tracing::warn!(%error, "shard.failed");
        }
    }
}

impl fmt::Debug for ShardSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardSet")
            .field("shards", &self.handles.len())
            .field("io", &self.io)
            .finish_non_exhaustive()
    }
}

/// A listener that its shard is about to open.
#[derive(Debug)]
pub struct Listening {
    answer: Receiver<io::Result<Address>>,
}

impl Listening {
    /// The address really bound, or why there is none; `None` while the shard has not answered.
    /// Answers once.
    pub fn poll(&self) -> Option<io::Result<Address>> {
        match self.answer.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(io::Error::other("the shard has stopped"))),
        }
    }

    /// Waits for the answer; not for use on a shard, nor with shards that this thread turns.
    ///
    /// # Errors
    ///
    /// The operating system's error of bind or listen, or the shard does not answer.
    pub fn wait(self) -> io::Result<Address> {
        self.answer
            .recv_timeout(LISTEN_WAIT)
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}
