//! A distributed runtime on file discovery, with either response plane.

use std::path::Path;

use dynamo_runtime::component::Endpoint;
use dynamo_runtime::discovery::EventTransportKind;
use dynamo_runtime::distributed::{DiscoveryBackend, DistributedConfig, RequestPlaneMode};
use dynamo_runtime::pipeline::network::ResponsePlaneMode;
use dynamo_runtime::storage::kv::Selector;
use dynamo_runtime::{DistributedRuntime, Runtime};

/// The response plane of that name.
pub(crate) fn response(name: &str) -> anyhow::Result<ResponsePlaneMode> {
    match name {
        "tcp" => Ok(ResponsePlaneMode::Tcp),
        "quic" => Ok(ResponsePlaneMode::Quic),
        other => anyhow::bail!("response is tcp or quic, not {other}"),
    }
}

/// The endpoint that this benchmark serves and calls, found through the files in `store`.
pub(crate) async fn endpoint(
    store: &Path,
    response: ResponsePlaneMode,
) -> anyhow::Result<Endpoint> {
    let config = DistributedConfig {
        discovery_backend: DiscoveryBackend::KvStore(Selector::File(store.to_owned())),
        nats_config: None,
        request_plane: RequestPlaneMode::Tcp,
        response_plane: Some(response),
        event_transport_kind: EventTransportKind::Zmq,
    };
    let distributed = DistributedRuntime::new(Runtime::from_current()?, config).await?;
    let component = distributed.namespace("bench")?.component("worker")?;
    Ok(component.endpoint("generate"))
}
