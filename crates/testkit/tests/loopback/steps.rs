//! Tokens pushed by an engine thread, step by step.

use std::sync::mpsc::{Sender, channel};

use ringmain_client::Call;
use ringmain_codec::{EndpointId, Status};
use ringmain_server::{LocalInput, LocalSink, Push, Request, StepSink, StepWriter};
use ringmain_testkit::{Rig, eventually};

use crate::{drain, everywhere};

const STEPPED: &str = "test.worker.count";

/// Serves an endpoint whose streams are handed to `engine`, and ends them as it says.
fn serve_stepped(rig: &Rig, engine: Sender<StepSink>) {
    let endpoint: EndpointId = STEPPED.parse().unwrap();
    let server = &rig.workers[0].server;
    server.withdraw(&endpoint).unwrap();
    server
        .serve_local(endpoint, move |_| {
            let engine = engine.clone();
            move |_request: Request<LocalInput>, sink: LocalSink| {
                let engine = engine.clone();
                async move {
                    let step = sink.step_sink();
                    engine.send(step.clone()).unwrap();
                    step.finished().await;
                    Ok(())
                }
            }
        })
        .unwrap();
}

/// Flushes until the shard has everything.
fn flush(writer: &mut StepWriter) {
    eventually("the shard takes the step", || writer.flush().refused == 0);
}

#[test]
fn one_step_is_one_send_per_link() {
    const STREAMS: usize = 64;
    const STEPS: u64 = 100;
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let (engine, sinks) = channel();
        serve_stepped(&rig, engine);
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams.push(
                rig.client
                    .call(&Rig::endpoint(STEPPED), Call::new(""))
                    .await
                    .unwrap(),
            );
        }
        let sinks: Vec<_> = sinks.iter().take(STREAMS).collect();
        let worker = &rig.workers[0];
        let sends = || worker.counter(ringmain_telemetry::Counter::Sends);
        let tokens = || worker.counter(ringmain_telemetry::Counter::TokensSent);
        let mut writer = StepWriter::new();
        // Credit and pings may add a send of their own now and then.
        let before = sends();
        for step in 1..=STEPS {
            for sink in &sinks {
                assert_eq!(writer.push(sink, b"token of this step"), Push::Queued);
            }
            flush(&mut writer);
            eventually("the step is on its way", || {
                tokens() == step * STREAMS as u64
            });
        }
        let sent = sends() - before;
        assert!(
            sent <= STEPS + STEPS / 4,
            "{sent} sends for {STEPS} steps on one link"
        );
        for sink in &sinks {
            writer.end(sink);
        }
        flush(&mut writer);
        for mut stream in streams {
            assert_eq!(drain(&mut stream).await, (STEPS, STEPS * 18, Status::Ok));
        }
    });
}

#[test]
fn a_writer_hears_of_full_stopped_and_killed_streams() {
    everywhere(|io, home| async move {
        let rig = Rig::start(io, home).await;
        let (engine, sinks) = channel();
        serve_stepped(&rig, engine);
        let mut stream = rig
            .client
            .call(&Rig::endpoint(STEPPED), Call::new(""))
            .await
            .unwrap();
        let sink = sinks.recv().unwrap();
        let mut writer = StepWriter::new();
        // Nobody reads: credit runs out, then the sink fills.
        let mut pushed = 0u64;
        while writer.push(&sink, &[b'x'; 1000]) == Push::Queued {
            pushed += 1;
            flush(&mut writer);
            assert!(pushed < 10_000, "a sink must fill up");
        }
        assert_eq!(writer.push(&sink, &[b'x'; 1000]), Push::Full);
        stream.stop();
        eventually("the stop arrives", || sink.is_stopped());
        for _ in 0..pushed {
            assert_eq!(stream.next().await.unwrap().unwrap().len(), 1000);
        }
        eventually("room comes back", || {
            writer.push(&sink, b"last") == Push::Stopped
        });
        flush(&mut writer);
        assert_eq!(stream.next().await.unwrap().unwrap(), "last");
        stream.kill();
        eventually("the kill arrives", || {
            writer.push(&sink, b"late") == Push::Killed
        });
        eventually("its handler is gone", || rig.in_flight() == 0);

        // A sink of a stream that is gone never reaches the next one in its place.
        let mut next = rig
            .client
            .call(&Rig::endpoint(STEPPED), Call::new(""))
            .await
            .unwrap();
        let fresh = sinks.recv().unwrap();
        assert_eq!(writer.push(&sink, b"foreign"), Push::Killed);
        assert_eq!(writer.push(&fresh, b"own"), Push::Queued);
        writer.end(&fresh);
        flush(&mut writer);
        assert_eq!(next.next().await.unwrap().unwrap(), "own");
        assert_eq!(drain(&mut next).await, (0, 0, Status::Ok));
    });
}
