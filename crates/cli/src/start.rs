//! Starting the shards that a command runs on.

use std::sync::Arc;

use anyhow::Context;
use ringmain_reactor::{DriverConfig, IdlePolicy, IoKind};
use ringmain_shard::{ShardSet, ShardSetConfig};
use ringmain_tuning::{Allowed, CorePlan};

use crate::args::IoArgs;
use crate::output::say;

/// Starts one shard per CPU of the plan; says on stderr what runs where.
pub(crate) fn shards(args: &IoArgs, driver: DriverConfig) -> anyhow::Result<Arc<ShardSet>> {
    let allowed = Allowed::read().context("cannot read the allowed CPUs")?;
    let plan = CorePlan::new(&allowed, args.shards, args.pin);
    let config = ShardSetConfig {
        io: args.io,
        cores: (0..plan.shards().get())
            .map(|index| plan.cpu(index))
            .collect(),
        driver: DriverConfig {
            idle: IdlePolicy::Adaptive {
                spin_us: args.spin_us,
            },
            ..driver
        },
        ..ShardSetConfig::default()
    };
    let shards = ShardSet::start(&config).context("cannot start the shards")?;
    if let Some(reason) = shards.fallback_reason() {
        say(format_args!(
            "io_uring is not available, using epoll: {reason}"
        ));
    }
    say(format_args!("{} on {}", plan.describe(), shards.io()));
    Ok(Arc::new(shards))
}

/// The driver in JSON output.
pub(crate) const fn io_name(io: IoKind) -> &'static str {
    match io {
        IoKind::Uring => "uring",
        IoKind::Epoll => "epoll",
        IoKind::Sim => "sim",
    }
}
