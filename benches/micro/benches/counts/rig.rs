//! A worker's and a caller's shard on a simulated network, turned by hand.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ringmain_codec::{
    Config, ConnectionError, Event, InstanceId, Metadata, OpenParams, Priority, RequestId,
    StreamHandle,
};
use ringmain_reactor::driver::sim::{SimConfig, SimNet};
use ringmain_reactor::{Address, DriverConfig, ListenOptions};
use ringmain_server::{LocalInput, LocalSink, Request, Server, ServerConfig};
use ringmain_shard::{
    Link, LinkDown, LinkKey, LinkRole, Payload, Shard, ShardCtx, ShardSet, ShardSetConfig,
};

use crate::quiet::Quiet;

/// Turns after which something that should have happened never will.
const TURNS_MAX: usize = 100_000;

/// One connection with open streams, whose handlers left their sinks here and wait.
pub(crate) struct Rig {
    pub(crate) worker: Shard<Quiet>,
    pub(crate) caller: Shard<Quiet>,
    pub(crate) sinks: Rc<Sinks>,
    net: SimNet,
    tokens: Rc<Cell<usize>>,
    _server: Server,
    _calling: ShardSet,
}

/// Where the handlers of the worker's shard leave their sinks.
pub(crate) type Sinks = RefCell<Vec<LocalSink>>;

impl Rig {
    pub(crate) fn new(streams: usize) -> Self {
        let net = SimNet::new(7, network());
        let config = ShardSetConfig::default();
        let (serving, mut shards) = ShardSet::manual(vec![Quiet(net.reactor("worker"))], &config);
        let mut worker = shards.pop().unwrap();
        let instance = InstanceId::new(1).unwrap();
        let server = Server::new(Arc::new(serving), instance, ServerConfig::default());
        let endpoint = "prod.worker.generate".parse().unwrap();
        let keep_sinks = |ctx: &ShardCtx| {
            let sinks = ctx.extension(Sinks::default);
            move |_: Request<LocalInput>, sink: LocalSink| {
                let over = sink.step_sink().finished();
                sinks.borrow_mut().push(sink);
                async move {
                    over.await;
                    Ok(())
                }
            }
        };
        server.serve_local(endpoint, keep_sinks).unwrap();
        let any: Address = "10.0.0.1:0".parse().unwrap();
        let listening = server.begin_listen(&any, &ListenOptions::default());
        worker.turn().unwrap();
        let address = listening.unwrap().poll().unwrap().unwrap();

        let (calling, mut shards) = ShardSet::manual(vec![Quiet(net.reactor("caller"))], &config);
        let caller = shards.pop().unwrap();
        let tokens = Rc::new(Cell::new(0));
        let role = Caller {
            streams,
            tokens: Rc::clone(&tokens),
        };
        let dialer = Config::dialer(Some(instance));
        caller.ctx().dial(address, dialer, Box::new(role));
        let sinks = worker.ctx().extension(Sinks::default);
        let mut rig = Self {
            worker,
            caller,
            sinks,
            net,
            tokens,
            _server: server,
            _calling: calling,
        };
        rig.turn_until(|rig| rig.sinks.borrow().len() == streams);
        rig
    }

    /// Messages that have reached the caller.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens.get()
    }

    /// Turns both shards, through time, until `tokens` have reached the caller.
    pub(crate) fn deliver(&mut self, tokens: usize) {
        self.turn_until(|rig| rig.tokens() == tokens);
        // What the caller has to say of it, and the ends of its sends.
        self.turn_for(Duration::from_millis(1));
    }

    /// Moves time until what was sent has arrived, without turning a shard.
    pub(crate) fn carry(&self) {
        self.net.advance_to(self.net.now() + network().delay_max);
    }

    fn turn_until(&mut self, is_done: impl Fn(&Self) -> bool) {
        for _ in 0..TURNS_MAX {
            if is_done(self) {
                return;
            }
            self.turn_both();
            assert!(self.net.step(), "the network is at rest too early");
        }
        panic!("the shards do not come to their end");
    }

    fn turn_for(&mut self, time: Duration) {
        let end = self.net.now() + time;
        for _ in 0..TURNS_MAX {
            self.turn_both();
            match self.net.next_event_time() {
                Some(next) if next <= end => self.net.advance_to(next),
                _ => {
                    self.net.advance_to(end);
                    return;
                }
            }
        }
        panic!("the shards do not come to rest");
    }

    fn turn_both(&mut self) {
        self.worker.turn().unwrap();
        self.caller.turn().unwrap();
    }
}

/// The same delay for all: no count depends on what a seed draws.
fn network() -> SimConfig {
    SimConfig {
        delay_min: Duration::from_micros(50),
        delay_max: Duration::from_micros(50),
        driver: DriverConfig::client(),
        ..SimConfig::calm()
    }
}

/// A calling role that takes each token as it comes.
struct Caller {
    streams: usize,
    tokens: Rc<Cell<usize>>,
}

impl Caller {
    fn open_all(&self, ctx: &ShardCtx, link: &mut Link) {
        let params = OpenParams {
            request_id: RequestId([7; 16]),
            deadline: None,
            priority: Priority::Middle,
            trace: None,
            endpoint: "prod.worker.generate",
            metadata: Metadata::EMPTY,
        };
        for _ in 0..self.streams {
            let request = Payload::from(Bytes::from_static(&[1; 100]));
            link.open(ctx.now(), &params, Some(request), true).unwrap();
        }
    }
}

impl LinkRole for Caller {
    fn on_bytes(
        &mut self,
        ctx: &ShardCtx,
        _key: LinkKey,
        link: &mut Link,
        chunk: &[u8],
    ) -> Result<(), ConnectionError> {
        let mut chunk = chunk;
        while let Some(event) = link.read(ctx.now(), &mut chunk)? {
            match event {
                Event::Ready => self.open_all(ctx, link),
                Event::Data {
                    stream,
                    credit,
                    message_end,
                    ..
                } => {
                    link.release(stream, credit);
                    self.tokens
                        .set(self.tokens.get() + usize::from(message_end));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn on_stream_timer(&mut self, _: &ShardCtx, _: LinkKey, _: &mut Link, _: StreamHandle) {}

    fn on_down(&mut self, _: &ShardCtx, _: LinkKey, _: &mut Link, _: &LinkDown) {}

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
