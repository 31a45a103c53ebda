//! The server: a handler that opens the caller's stream by its ticket.

use bytes::Bytes;
use peer_host::TokioTimer;
use ringmain_bench_harness::Producer;
use velo::streaming::{AutoFlush, FlushPolicy};
use velo::{Handler, StreamSender, Velo, WeakVelo};

use crate::flush::Flusher;
use crate::{call, node};

/// Serves for as long as the node lives.
pub(crate) async fn serve(manual: bool) -> anyhow::Result<Velo> {
    let policy = if manual {
        FlushPolicy::Manual
    } else {
        FlushPolicy::Auto(AutoFlush::default())
    };
    let node = node::start(policy).await?;
    let flusher = if manual {
        Flusher::start(node.downgrade())
    } else {
        Flusher::default()
    };
    let weak = node.downgrade();
    let handler = Handler::am_handler_async(call::CALL, move |message| {
        answer(weak.clone(), flusher.clone(), message.payload)
    });
    node.register_handler(handler.build())?;
    Ok(node)
}

async fn answer(node: WeakVelo, flusher: Flusher, message: Bytes) -> anyhow::Result<()> {
    let (request, anchor, ticket) = call::decode(message)?;
    let Some(node) = node.upgrade() else {
        return Ok(());
    };
    let sender: StreamSender<Bytes> = node.open_anchor_stream(anchor, ticket).await?;
    drop(node);
    let Some(mut producer) = Producer::new(&request, TokioTimer) else {
        return Ok(sender.finalize()?);
    };
    let cancelled = sender.cancellation_token();
    let producing = async {
        while let Some(item) = producer.next_item().await {
            sender.send_bytes(item).await?;
            flusher.sent();
        }
        anyhow::Ok(())
    };
    if let Some(produced) = cancelled.run_until_cancelled(producing).await {
        produced?;
        sender.finalize()?;
        flusher.sent();
    }
    Ok(())
}
