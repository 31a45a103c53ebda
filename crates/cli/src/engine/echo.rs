//! Answers with the words of the request, as an async handler on the shard.

use ringmain_codec::EndpointId;
use ringmain_server::{HandlerError, LocalInput, LocalSink, Request, Server};
use ringmain_shard::ShardCtx;

use super::{Pace, USAGE_TOKENS, words};

pub(super) fn install(server: &Server, endpoint: EndpointId, pace: &Pace) -> anyhow::Result<()> {
    let pace = pace.clone();
    server.serve_local(endpoint, move |ctx: &ShardCtx| {
        let (ctx, pace) = (ctx.clone(), pace.clone());
        move |request: Request<LocalInput>, sink: LocalSink| {
            answer(ctx.clone(), pace.clone(), request, sink)
        }
    })?;
    Ok(())
}

async fn answer(
    ctx: ShardCtx,
    pace: Pace,
    request: Request<LocalInput>,
    mut sink: LocalSink,
) -> Result<(), HandlerError> {
    let Request {
        data,
        mut input,
        context,
        ..
    } = request;
    let mut next = Some(data);
    let mut tokens = 0u64;
    while let Some(message) = next {
        let text = std::str::from_utf8(&message)
            .map_err(|_| HandlerError::invalid_request("the echo engine wants UTF-8 text"))?;
        for word in words::split(text) {
            if context.is_stopped() {
                break;
            }
            let wait = if tokens == 0 { pace.ttft } else { pace.itl };
            if !wait.is_zero() {
                ctx.sleep_until(ctx.now() + wait).await;
            }
            sink.send(word.as_bytes()).await?;
            tokens += 1;
        }
        next = input.next().await;
    }
    sink.add_trailer(USAGE_TOKENS, tokens.to_string());
    Ok(())
}
