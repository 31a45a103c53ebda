//! The tokio runtimes that commands use off the shards.

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

/// One thread: the control thread of `serve` and the caller of `call`.
pub(crate) fn current_thread() -> anyhow::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the control thread")
}

/// Several threads, as a router has.
pub(crate) fn multi_thread() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the router's runtime")
}
