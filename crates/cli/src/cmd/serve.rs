//! `ringmain serve`.

use std::sync::Arc;

use anyhow::Context;
use ringmain_codec::EndpointId;
use ringmain_discovery::{
    Discovery, HostNetwork, Instance, Registry, RegistryUrl, TransportAddr, advertise,
    fresh_instance_id,
};
use ringmain_reactor::{Address, DriverConfig, ListenOptions};
use ringmain_server::{DrainOutcome, Server, ServerConfig};
use ringmain_shard::ShardSet;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::ServeArgs;
use crate::exit::Exit;
use crate::output::{print_json, say};
use crate::start::{io_name, shards};
use crate::{engine, runtime};

/// Serves until SIGTERM or ctrl-C, then drains; a second signal ends at once.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<Exit> {
    let shards = shards(&args.io, DriverConfig::server())?;
    let config = ServerConfig {
        concurrency_max: args.concurrency_max,
        queue_max: args.queue_max,
        ..ServerConfig::default()
    };
    let limits = format!(
        "limits: concurrency_max {}, queue_max {}, message_bytes_max {}",
        config.concurrency_max, config.queue_max, config.message_bytes_max
    );
    let instance = fresh_instance_id()?;
    let server = Server::new(Arc::clone(&shards), instance, config);
    engine::install(
        &server,
        args.endpoint.clone(),
        &args.engine,
        &args.pace.pace(),
    )?;
    let bound = listen(&server, &args.listen)?;
    let addresses = advertised(&bound, args)?;
    say(format_args!("{limits}"));
    let runtime = runtime::current_thread()?;
    runtime.block_on(async {
        // Before anybody can know of this worker: from then on a signal means to drain.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let discovery = Discovery::open(args.registry.clone(), Arc::clone(shards.telemetry()))?;
        let record = Instance::new(instance, args.endpoint.clone(), addresses.clone());
        let registration = discovery
            .register(record)
            .await
            .with_context(|| format!("cannot register with {}", args.registry))?;
        announce(args, &shards, instance, &addresses)?;

        wait_either(&mut terminate, &mut interrupt).await;
        say(format_args!(
            "draining: {} requests in flight",
            server.in_flight()
        ));
        // Nobody should choose this instance any more before it starts to refuse.
        if let Err(error) = registration.deregister().await {
            say(format_args!(
                "the registration stays until it expires: {error}"
            ));
        }
        server.start_drain();
        let outcome = tokio::select! {
            () = server.drained() => DrainOutcome::Clean,
            () = tokio::time::sleep(args.drain_timeout) => {
                DrainOutcome::Forced { requests: server.in_flight() }
            }
            () = wait_either(&mut terminate, &mut interrupt) => {
                DrainOutcome::Forced { requests: server.in_flight() }
            }
        };
        finish(args, &shards, outcome)
    })
}

async fn wait_either(
    terminate: &mut tokio::signal::unix::Signal,
    interrupt: &mut tokio::signal::unix::Signal,
) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

fn listen(server: &Server, addresses: &[Address]) -> anyhow::Result<Vec<Address>> {
    let options = ListenOptions::default();
    addresses
        .iter()
        .map(|address| {
            server
                .listen(address, &options)
                .with_context(|| format!("cannot listen on {address}"))
        })
        .collect()
}

/// What callers are told: never a wildcard.
fn advertised(bound: &[Address], args: &ServeArgs) -> anyhow::Result<Vec<TransportAddr>> {
    let network = HostNetwork::read()?;
    let scope = args.registry.scope();
    bound
        .iter()
        .map(|address| {
            let bound = transport(address);
            Ok(advertise(
                &bound,
                args.advertise.as_deref(),
                scope,
                &network,
            )?)
        })
        .collect()
}

pub(super) fn transport(address: &Address) -> TransportAddr {
    match address {
        Address::Ip(socket) => TransportAddr::Tcp(*socket),
        Address::Unix(path) => TransportAddr::Unix(path.clone()),
    }
}

fn announce(
    args: &ServeArgs,
    shards: &ShardSet,
    instance: ringmain_codec::InstanceId,
    addresses: &[TransportAddr],
) -> anyhow::Result<()> {
    let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let (endpoint, registry): (&EndpointId, &RegistryUrl) = (&args.endpoint, &args.registry);
    if args.json {
        return print_json(&json!({
            "event": "serving",
            "endpoint": endpoint.to_string(),
            "instance": instance.to_string(),
            "addresses": list,
            "registry": registry.to_string(),
            "io": io_name(shards.io()),
            "shards": shards.handles().len(),
        }));
    }
    say(format_args!(
        "serving {endpoint} as instance {instance} on {} (registry {registry})",
        list.join(", ")
    ));
    Ok(())
}

fn finish(args: &ServeArgs, shards: &ShardSet, outcome: DrainOutcome) -> anyhow::Result<Exit> {
    shards
        .stop(std::time::Duration::from_secs(2))
        .context("a shard failed")?;
    let (clean, requests) = match outcome {
        DrainOutcome::Clean => (true, 0),
        DrainOutcome::Forced { requests } => (false, requests),
    };
    if args.json {
        print_json(&json!({"event": "stopped", "drain_clean": clean, "cut_off": requests}))?;
    } else if clean {
        say(format_args!("drained: every request ended"));
    } else {
        say(format_args!("stopped with {requests} requests cut off"));
    }
    Ok(if clean { Exit::Ok } else { Exit::Negative })
}
