//! Workers that die, freeze or come back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringmain_client::{Call, Client, ClientConfig, Home, ResponseStream, StreamError};
use ringmain_codec::{EndpointId, Started, Status};
use ringmain_discovery::{Discovery, Registry, SnapshotHandle};
use ringmain_telemetry::Telemetry;
use rustix::process::Signal;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::process::PATIENCE;
use crate::setup::{ENDLESS, ENDPOINT, LIVENESS, Site, Worker, made, streaming};

/// A router in this process, over the workers' registry.
struct Router {
    client: Client,
    endpoint: EndpointId,
    _discovery: Discovery,
    _snapshots: SnapshotHandle,
}

impl Router {
    async fn over(site: &Site, workers: usize, config: ClientConfig) -> Self {
        let telemetry = Telemetry::new(0);
        let registry = site.registry().parse().unwrap();
        let discovery = Discovery::open(registry, Arc::clone(&telemetry)).unwrap();
        let source = Arc::new(discovery.clone());
        let builder = Client::builder(source, Home::Inline).telemetry(telemetry);
        let client = builder.config(config).build();
        let endpoint: EndpointId = ENDPOINT.parse().unwrap();
        let snapshots = discovery.watch(endpoint.clone()).await.unwrap();
        snapshots
            .wait_for(|snapshot| snapshot.len() == workers)
            .await
            .unwrap();
        Self {
            client,
            endpoint,
            _discovery: discovery,
            _snapshots: snapshots,
        }
    }

    async fn open(&self, call: Call) -> ResponseStream {
        bounded("a call", self.client.call(&self.endpoint, call))
            .await
            .unwrap()
    }
}

async fn bounded<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(done) = timeout(PATIENCE, future).await else {
        panic!("{what}: not in {PATIENCE:?}")
    };
    done
}

/// What became of a stream that was read to its end.
struct Outcome {
    tokens: u64,
    error: Option<StreamError>,
    usage: Option<u64>,
    ended: Instant,
}

/// Reads a stream to its end, which must come once and last.
async fn read(mut stream: ResponseStream, mut tokens: u64) -> Outcome {
    let mut error = None;
    while let Some(item) = bounded("an item", stream.next()).await {
        assert_eq!(error, None, "nothing follows the end");
        match item {
            Ok(token) => {
                assert_eq!(token, format!(" token{tokens}"), "in order");
                tokens += 1;
            }
            Err(end) => error = Some(end),
        }
    }
    let ended = Instant::now();
    assert!(stream.next().await.is_none());
    let end = stream.end().unwrap();
    let usage = end
        .trailers()
        .iter()
        .find(|(key, _)| *key == b"usage_tokens");
    let usage = usage.map(|(_, value)| str::from_utf8(value).unwrap().parse().unwrap());
    Outcome {
        tokens,
        error,
        usage,
        ended,
    }
}

/// A stream whose first token has come, read on by a task of its own. The second task's end is
/// asked for by `stop`.
struct Running {
    instance: String,
    reading: JoinHandle<Outcome>,
    stop: tokio::sync::oneshot::Sender<()>,
}

async fn start(router: &Router) -> Running {
    let mut stream = router.open(Call::new("go on")).await;
    let first = bounded("a first token", stream.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(first, " token0");
    let (stop, mut stopped) = tokio::sync::oneshot::channel();
    let instance = stream.instance().to_string();
    let reading = tokio::spawn(async move {
        let mut tokens = 1;
        loop {
            tokio::select! {
                biased;
                _ = &mut stopped => break,
                item = stream.next() => match item {
                    Some(Ok(token)) => {
                        assert_eq!(token, format!(" token{tokens}"), "in order");
                        tokens += 1;
                    }
                    Some(Err(error)) => {
                        let ended = Instant::now();
                        assert!(stream.next().await.is_none(), "nothing follows the end");
                        return Outcome { tokens, error: Some(error), usage: None, ended };
                    }
                    None => panic!("this stream has no end of its own"),
                },
            }
        }
        stream.stop();
        read(stream, tokens).await
    });
    Running {
        instance,
        reading,
        stop,
    }
}

/// Kills one of two workers under 200 streams.
async fn kill_one_of_two() {
    const STREAMS: usize = 200;
    let site = Site::new();
    let mut workers = vec![site.worker(&[ENDLESS]), site.worker(&[ENDLESS])];
    let router = Router::over(&site, 2, ClientConfig::default()).await;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(start(&router).await);
    }
    let killed = workers.remove(0);
    let (lost, kept): (Vec<_>, Vec<_>) = streams
        .into_iter()
        .partition(|stream| stream.instance == killed.instance());
    assert!(
        lost.len() >= STREAMS / 4 && kept.len() >= STREAMS / 4,
        "both have streams"
    );

    killed.process.signal(Signal::KILL);
    let killed_at = Instant::now();
    for stream in lost {
        let outcome = bounded("the end of a lost stream", stream.reading)
            .await
            .unwrap();
        let error = outcome.error.unwrap();
        assert_eq!(
            (error.status, error.started),
            (Status::ConnectionLost, Started::Yes)
        );
        let took = outcome.ended.saturating_duration_since(killed_at);
        assert!(took < LIVENESS, "told after {took:?}");
    }
    // The record of the dead one is still there, and nobody is sent to it in vain.
    for _ in 0..20 {
        let mut stream = router.open(Call::new("next")).await;
        assert_eq!(stream.instance().to_string(), workers[0].instance());
        assert_eq!(
            bounded("a token", stream.next()).await.unwrap().unwrap(),
            " token0"
        );
    }
    for stream in kept {
        assert!(!stream.reading.is_finished(), "untouched");
        stream.stop.send(()).unwrap();
        let outcome = bounded("the end of a kept stream", stream.reading)
            .await
            .unwrap();
        assert_eq!(
            outcome.error, None,
            "a stop that was asked for is a good end"
        );
        assert_eq!(
            outcome.usage,
            Some(outcome.tokens),
            "every token that was made arrived"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_worker_ends_its_own_streams_once_and_no_others() {
    kill_one_of_two().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_worker_is_unresponsive_and_its_late_tokens_reach_no_new_stream() {
    const STREAMS: usize = 20;
    let site = Site::new();
    let worker = site.worker(&[ENDLESS]);
    let config = ClientConfig {
        keepalive_active: Duration::from_millis(200),
        connect_timeout: Duration::from_millis(500),
        ..ClientConfig::default()
    };
    let router = Router::over(&site, 1, config).await;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(start(&router).await);
    }
    worker.process.signal(Signal::STOP);
    for stream in streams {
        let outcome = bounded("the end of a frozen stream", stream.reading)
            .await
            .unwrap();
        let error = outcome.error.unwrap();
        assert_eq!(
            (error.status, error.started),
            (Status::PeerUnresponsive, Started::Yes)
        );
    }
    worker.process.signal(Signal::CONT);
    let mut answered = 0;
    let deadline = Instant::now() + PATIENCE;
    while answered < STREAMS {
        assert!(Instant::now() < deadline, "calls work again");
        // Until a dial has succeeded the instance stays set aside.
        let call = Call::new("again").metadata("max_tokens", "20");
        match bounded("a call", router.client.call(&router.endpoint, call)).await {
            Ok(stream) => {
                let outcome = read(stream, 0).await;
                assert_eq!((outcome.tokens, outcome.error), (20, None));
                answered += 1;
            }
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

#[test]
fn a_worker_that_comes_back_on_its_port_leaves_no_call_stuck() {
    let site = Site::new();
    let worker = site.worker(&[ENDLESS]);
    let address = worker.address().to_owned();
    let running = streaming(site.start_call(&[]));
    worker.process.signal(Signal::KILL);
    worker.end();
    running.end().code(1).says("started: yes");
    // The record of the one that died is still there, at the same address.
    let worker: Worker = site.worker_at(&address, &["--tokens=3"]);
    assert_eq!(worker.address(), address);
    for home in ["inline", "shards", "inline", "shards"] {
        let ended = site.call(&["--home", home]).code(0);
        assert_eq!(ended.out, made(3) + "\n");
    }
}
