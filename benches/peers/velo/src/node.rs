//! Either end: one TCP transport on loopback, streams through the messenger alone.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use velo::Velo;
use velo::streaming::{FlushPolicy, MuxConfig};
use velo::transports::tcp::TcpTransportBuilder;

/// Starts one, on the runtime that it is called on.
pub(crate) async fn start(flush_policy: FlushPolicy) -> anyhow::Result<Velo> {
    let transport = TcpTransportBuilder::new()
        .bind_addr(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .build()?;
    Velo::builder()
        .add_transport(Arc::new(transport))
        .messenger_mux(MuxConfig {
            flush_policy,
            ..MuxConfig::default()
        })?
        .mux_only()
        .build()
        .await
}
