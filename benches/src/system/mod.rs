//! The systems that this binary itself can be either end of.

use anyhow::bail;
use ringmain_bench_harness::System;

use crate::floor;

mod ringmain;

/// The system of that name.
pub(crate) fn find(name: &str) -> anyhow::Result<Box<dyn System>> {
    if let Some(floor) = floor::find(name) {
        return Ok(Box::new(floor));
    }
    Ok(match name {
        "ringmain" => Box::new(ringmain::Ringmain),
        other => bail!("no system is called {other}"),
    })
}
