//! The server: a subscriber that starts a task per request.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::{Client, Subject, Subscriber};
use bytes::Bytes;
use peer_host::TokioTimer;
use ringmain_bench_harness::Producer;
use tokio::task::AbortHandle;
use tokio_stream::StreamExt as _;

use crate::{CALL, CANCEL};

/// Subscribes; serves for as long as the runtime lives.
pub(crate) async fn serve(address: SocketAddr) -> anyhow::Result<()> {
    let client = async_nats::connect(address.to_string()).await?;
    let calls = client.subscribe(CALL).await?;
    let cancels = client.subscribe(CANCEL).await?;
    // The broker knows both before the server says that it is ready.
    client.flush().await?;
    let server = Server {
        client,
        handlers: Arc::default(),
    };
    tokio::spawn(server.clone().take_calls(calls));
    tokio::spawn(server.take_cancels(cancels));
    Ok(())
}

#[derive(Clone)]
struct Server {
    client: Client,
    /// By inbox.
    handlers: Arc<Mutex<HashMap<Bytes, AbortHandle>>>,
}

impl Server {
    async fn take_calls(self, mut calls: Subscriber) {
        while let Some(call) = calls.next().await {
            let Some(inbox) = call.reply else { continue };
            let key = Bytes::copy_from_slice(inbox.as_bytes());
            let producer = Producer::new(&call.payload, TokioTimer);
            let server = self.clone();
            // Held over the start, so that the handler cannot end before it is listed.
            let mut handlers = self.handlers();
            let listed = key.clone();
            let handler = tokio::spawn(async move {
                if let Some(producer) = producer {
                    server.answer(&inbox, producer).await;
                }
                // The end, which nobody reads if the connection is gone.
                server.client.publish(inbox, Bytes::new()).await.ok();
                server.handlers().remove(&key);
            });
            handlers.insert(listed, handler.abort_handle());
        }
    }

    async fn take_cancels(self, mut cancels: Subscriber) {
        while let Some(cancel) = cancels.next().await {
            if let Some(handler) = self.handlers().remove(&cancel.payload) {
                handler.abort();
            }
        }
    }

    async fn answer(&self, inbox: &Subject, mut producer: Producer<TokioTimer>) {
        while let Some(item) = producer.next_item().await {
            if self
                .client
                .publish(inbox.clone(), item.into())
                .await
                .is_err()
            {
                return;
            }
        }
    }

    fn handlers(&self) -> MutexGuard<'_, HashMap<Bytes, AbortHandle>> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
