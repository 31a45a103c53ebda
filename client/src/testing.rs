//! A scripted responder for tests: what a request says is what it does.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringmain_codec::{
    Config, ConnectionError, EndParams, EndpointId, Event, InstanceId, Metadata, Status,
    StreamHandle, TrySend,
};
use ringmain_discovery::{Instance, TransportAddr};
use ringmain_reactor::Address;
use ringmain_shard::{Link, LinkAcceptor, LinkDown, LinkKey, LinkRole, Payload, ShardCtx};

pub(crate) const ENDPOINT: &str = "prod.worker.generate";

pub(crate) fn endpoint() -> EndpointId {
    ENDPOINT.parse().unwrap()
}

pub(crate) fn id(value: u64) -> InstanceId {
    InstanceId::new(value).unwrap()
}

pub(crate) fn instance(value: u64, address: TransportAddr) -> Arc<Instance> {
    Arc::new(Instance::new(id(value), endpoint(), vec![address]))
}

/// What a responder saw, for assertions.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) opened: AtomicUsize,
    pub(crate) killed: AtomicUsize,
    pub(crate) stopped: AtomicUsize,
    pub(crate) disconnected: AtomicUsize,
    pub(crate) messages: Mutex<Vec<Vec<u8>>>,
    pub(crate) deadlines: Mutex<Vec<Option<Duration>>>,
}

impl Seen {
    pub(crate) fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }

    pub(crate) fn killed(&self) -> usize {
        self.killed.load(Ordering::SeqCst)
    }

    pub(crate) fn disconnected(&self) -> usize {
        self.disconnected.load(Ordering::SeqCst)
    }

    pub(crate) fn stopped(&self) -> usize {
        self.stopped.load(Ordering::SeqCst)
    }
}

/// A stream that is still being answered.
#[derive(Debug)]
struct Answer {
    stream: StreamHandle,
    request: Vec<u8>,
    /// Tokens to send and the length of each.
    tokens: usize,
    token_bytes: usize,
    ended: bool,
}

/// One connection's responder.
///
/// Requests: `tokens N LEN` sends N messages of LEN bytes and ends well; `hang` is never taken;
/// `stay N` is taken, sends N one-byte messages and waits; `reject` is turned away as overloaded;
/// `drain` as draining; `echo ..` is sent back once its input is complete; `fail` ends as an
/// application error after one message; `goaway` is taken, sends one message and is followed by
/// GOAWAY; `big N` sends one message of N bytes; an empty request, or `collect`, answers with the
/// number of further messages once the input is complete.
#[derive(Debug)]
pub(crate) struct Script {
    seen: Arc<Seen>,
    answers: Vec<Answer>,
    token: Vec<u8>,
    partial: Vec<u8>,
}

enum Todo {
    Open(StreamHandle, u32),
    Release(StreamHandle, u32),
    Input(StreamHandle),
    End(StreamHandle, Status),
    Push(StreamHandle),
    Nothing,
}

impl Script {
    pub(crate) fn new(seen: Arc<Seen>) -> Self {
        Self {
            seen,
            answers: Vec::new(),
            token: Vec::new(),
            partial: Vec::new(),
        }
    }

    pub(crate) fn on_bytes(
        &mut self,
        now: Instant,
        link: &mut Link,
        mut chunk: &[u8],
    ) -> Result<(), ConnectionError> {
        loop {
            let Some(event) = link.read(now, &mut chunk)? else {
                return Ok(());
            };
            match self.on_event(event) {
                Todo::Nothing => {}
                Todo::Open(stream, credit) => {
                    link.release(stream, credit);
                    self.opened(link, stream);
                }
                Todo::Release(stream, credit) => link.release(stream, credit),
                Todo::Input(stream) => self.input_ended(link, stream),
                Todo::End(stream, status) => {
                    self.forget(stream);
                    let mut end = EndParams::new(status);
                    end.discard_queued = true;
                    link.end(stream, end);
                }
                Todo::Push(stream) => self.push(link, stream),
            }
        }
    }

    fn on_event(&mut self, event: Event<'_>) -> Todo {
        match event {
            Event::Open {
                stream,
                open,
                credit,
            } => {
                self.seen.opened.fetch_add(1, Ordering::SeqCst);
                self.seen.deadlines.lock().unwrap().push(open.deadline);
                let request = open.request.to_vec();
                let (tokens, token_bytes) = (0, 0);
                let answer = Answer {
                    stream,
                    request,
                    tokens,
                    token_bytes,
                    ended: false,
                };
                self.answers.push(answer);
                Todo::Open(stream, credit)
            }
            Event::Data {
                stream,
                piece,
                message_end,
                credit,
                ..
            } => {
                self.partial.extend_from_slice(piece);
                if message_end {
                    let message = std::mem::take(&mut self.partial);
                    self.seen.messages.lock().unwrap().push(message);
                }
                Todo::Release(stream, credit)
            }
            Event::EndRequest { stream } => Todo::Input(stream),
            Event::Stop { stream } => {
                self.seen.stopped.fetch_add(1, Ordering::SeqCst);
                Todo::End(stream, Status::Cancelled)
            }
            Event::Kill { stream } => {
                self.seen.killed.fetch_add(1, Ordering::SeqCst);
                Todo::End(stream, Status::Killed)
            }
            Event::SendReady { stream } => Todo::Push(stream),
            _ => Todo::Nothing,
        }
    }

    fn opened(&mut self, link: &mut Link, stream: StreamHandle) {
        let Some(answer) = self.answers.iter_mut().find(|a| a.stream == stream) else {
            return;
        };
        let request = String::from_utf8_lossy(&answer.request).into_owned();
        let words: Vec<_> = request.split(' ').collect();
        let number = |at: usize| {
            words
                .get(at)
                .and_then(|word| word.parse().ok())
                .unwrap_or(0)
        };
        match words[0] {
            "tokens" => {
                (answer.tokens, answer.token_bytes, answer.ended) = (number(1), number(2), true);
                link.accept(stream);
                self.push(link, stream);
            }
            "stay" => {
                (answer.tokens, answer.token_bytes) = (number(1), 1);
                link.accept(stream);
                self.push(link, stream);
            }
            "reject" => {
                let mut end = EndParams::new(Status::Overloaded);
                end.limit = Some("requests_max");
                end.retry_after = Some(Duration::from_millis(250));
                end.message = "full";
                link.end(stream, end);
            }
            "drain" => link.end(stream, EndParams::new(Status::Draining)),
            "fail" => {
                link.send(stream, Payload::copied(b"partial")).unwrap();
                let mut end = EndParams::new(Status::Application);
                end.message = "bad prompt";
                link.end(stream, end);
            }
            "goaway" => {
                link.send(stream, Payload::copied(b"last")).unwrap();
                link.goaway(Status::Draining, "bye");
            }
            "big" => {
                let message = vec![7; number(1)];
                let sent = link.send(stream, Payload::from(bytes::Bytes::from(message)));
                let status = if sent.is_ok() {
                    Status::Ok
                } else {
                    Status::TooLarge
                };
                link.end(stream, EndParams::new(status));
            }
            _ => {}
        }
    }

    /// Sends tokens while there is credit; the end follows the last one.
    fn push(&mut self, link: &mut Link, stream: StreamHandle) {
        let Some(answer) = self.answers.iter_mut().find(|a| a.stream == stream) else {
            return;
        };
        self.token.resize(answer.token_bytes, b'x');
        while answer.tokens > 0 {
            match link.try_send(stream, &self.token).unwrap() {
                TrySend::Written => answer.tokens -= 1,
                TrySend::NoCredit => return,
                TrySend::NoRoom | TrySend::Queued => {
                    link.send(stream, Payload::copied(&self.token)).unwrap();
                    answer.tokens -= 1;
                }
            }
        }
        if answer.ended {
            self.forget(stream);
            let mut trailers = Vec::new();
            let mut end = EndParams::new(Status::Ok);
            end.trailers = Metadata::encode_pairs([("usage", "1")], &mut trailers).unwrap();
            link.end(stream, end);
        }
    }

    fn input_ended(&mut self, link: &mut Link, stream: StreamHandle) {
        let Some(answer) = self.answers.iter().find(|a| a.stream == stream) else {
            return;
        };
        let request = answer.request.clone();
        if request.starts_with(b"echo") {
            self.forget(stream);
            link.send(stream, Payload::copied(&request)).unwrap();
            link.end(stream, EndParams::new(Status::Ok));
        } else if request.is_empty() || request.starts_with(b"collect") {
            self.forget(stream);
            let count = self.seen.messages.lock().unwrap().len();
            link.send(stream, Payload::copied(count.to_string().as_bytes()))
                .unwrap();
            link.end(stream, EndParams::new(Status::Ok));
        }
    }

    fn forget(&mut self, stream: StreamHandle) {
        self.answers.retain(|answer| answer.stream != stream);
    }
}

/// Serves connections of a shard set by script.
pub(crate) struct ScriptAcceptor {
    pub(crate) instance: InstanceId,
    pub(crate) seen: Arc<Seen>,
}

/// The responder's settings: what these tests send fits its queues.
pub(crate) fn acceptor_config(instance: InstanceId) -> Config {
    let mut config = Config::acceptor(instance);
    config.queue_bytes_max = 256 * 1024 * 1024;
    config.churn_per_second_max = u32::MAX;
    config
}

impl LinkAcceptor for ScriptAcceptor {
    fn accept(&self, _ctx: &ShardCtx, _peer: Option<&Address>) -> (Config, Box<dyn LinkRole>) {
        let script = Script::new(Arc::clone(&self.seen));
        (acceptor_config(self.instance), Box::new(ScriptRole(script)))
    }
}

struct ScriptRole(Script);

impl LinkRole for ScriptRole {
    fn on_bytes(
        &mut self,
        ctx: &ShardCtx,
        _key: LinkKey,
        link: &mut Link,
        chunk: &[u8],
    ) -> Result<(), ConnectionError> {
        self.0.on_bytes(ctx.now(), link, chunk)
    }

    fn on_stream_timer(&mut self, _: &ShardCtx, _: LinkKey, _: &mut Link, _: StreamHandle) {}

    fn on_down(&mut self, _ctx: &ShardCtx, _key: LinkKey, link: &mut Link, _down: &LinkDown) {
        while link.poll_failed().is_some() {
            self.0.seen.disconnected.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
