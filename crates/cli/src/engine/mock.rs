//! An engine without a model: tokens at a set pace, produced in steps like a real one's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringmain_codec::EndpointId;
use ringmain_server::{HandlerError, LocalInput, LocalSink, Request, RequestHead, Server};
use ringmain_shard::ShardCtx;

use super::step_loop::{Job, StepLoop, Tokens};
use super::{MAX_TOKENS, Pace, USAGE_TOKENS};

pub(super) fn install(server: &Server, endpoint: EndpointId, pace: &Pace) -> anyhow::Result<()> {
    let engine = StepLoop::start("ringmain-mock", Tokens::Made)?;
    serve(server, endpoint, engine, pace.clone())
}

/// Serves `endpoint` from a step loop: the handler submits a job and waits for its end.
pub(super) fn serve(
    server: &Server,
    endpoint: EndpointId,
    engine: StepLoop,
    pace: Pace,
) -> anyhow::Result<()> {
    let engine = Arc::new(engine);
    let seeds = Arc::new(AtomicU64::new(1));
    server.serve_local(endpoint, move |_: &ShardCtx| {
        let (engine, pace, seeds) = (Arc::clone(&engine), pace.clone(), Arc::clone(&seeds));
        move |request: Request<LocalInput>, sink: LocalSink| {
            let seed = seeds.fetch_add(1, Ordering::Relaxed);
            answer(Arc::clone(&engine), pace.clone(), seed, request, sink)
        }
    })?;
    Ok(())
}

async fn answer(
    engine: Arc<StepLoop>,
    pace: Pace,
    seed: u64,
    request: Request<LocalInput>,
    sink: LocalSink,
) -> Result<(), HandlerError> {
    let tokens = asked_tokens(&request.head)?.unwrap_or(pace.tokens);
    let step = sink.step_sink();
    let job = Job::new(step.clone(), tokens, &pace, seed);
    let report = job.report();
    engine
        .submit(job)
        .map_err(|_| HandlerError::application("the engine has stopped"))?;
    step.finished().await;
    sink.add_trailer(USAGE_TOKENS, report.produced().to_string());
    if report.has_failed() {
        return Err(HandlerError::application("injected failure"));
    }
    Ok(())
}

fn asked_tokens(head: &RequestHead) -> Result<Option<u32>, HandlerError> {
    let Some(value) = head.metadata(MAX_TOKENS.as_bytes()) else {
        return Ok(None);
    };
    let parsed = std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse().ok());
    let Some(tokens) = parsed else {
        return Err(HandlerError::invalid_request(format!(
            "{MAX_TOKENS} is no number"
        )));
    };
    Ok(Some(tokens))
}
