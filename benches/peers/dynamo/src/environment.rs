//! Settings that Dynamo reads from the environment alone.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Set once the settings are in place.
const MARK: &str = "RINGMAIN_PEER_DYNAMO";

/// Loopback instead of the first outside address; no broker for events.
const SETTINGS: [(&str, &str); 4] = [
    ("DYN_TCP_RPC_HOST", "127.0.0.1"),
    ("DYN_TCP_RESPONSE_STREAM_HOST", "127.0.0.1"),
    ("DYN_EVENT_PLANE", "zmq"),
    (MARK, "1"),
];

/// Starts this program over, as the same process, with Dynamo's settings in its environment: a
/// process cannot safely change its own while it runs. Returns when they are in place.
///
/// `--set batch_us=N` among the arguments is the batch interval of QUIC responses.
pub(crate) fn enter() -> anyhow::Result<()> {
    if env::var_os(MARK).is_some() {
        return Ok(());
    }
    let mut command = Command::new(env::current_exe()?);
    command.args(env::args_os().skip(1)).envs(SETTINGS);
    let batch = env::args().find_map(|argument| {
        let (_, value) = argument.split_once("batch_us=")?;
        Some(value.to_owned())
    });
    if let Some(batch) = batch {
        command.env("DYN_QUIC_RESPONSE_BATCH_INTERVAL_US", batch);
    }
    Err(command.exec().into())
}
