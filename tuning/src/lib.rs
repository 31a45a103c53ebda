//! What the machine is and where to run.
//!
//! [`Allowed`] says what this process may use: the CPUs of its affinity mask (which follows its
//! cpuset) and its control group's CPU quota. [`CorePlan`] turns that and two settings into a
//! number of shards and a CPU for each; it is pure, so every case is tested without the machine in
//! question. [`pin_current_thread`] acts on it, for the calling thread alone.
//!
//! ```no_run
//! use ringmain_tuning::{Allowed, CorePlan, Pinning, ShardCount};
//!
//! # fn main() -> Result<(), ringmain_tuning::Error> {
//! let plan = CorePlan::new(&Allowed::read()?, ShardCount::Auto, Pinning::Auto);
//! println!("{}", plan.describe());
//! # Ok(())
//! # }
//! ```
//!
//! It changes nothing on the host: no sysctl, no interrupt, no other thread. It knows nothing of
//! rings or sockets.
#![forbid(unsafe_code)]

mod allowed;
mod cgroup;
mod cpu_set;
mod error;
mod pin;
mod plan;

pub use crate::allowed::Allowed;
pub use crate::cgroup::CpuQuota;
pub use crate::cpu_set::{CpuSet, ParseCpuSetError};
pub use crate::error::Error;
pub use crate::pin::pin_current_thread;
pub use crate::plan::{CorePlan, ParsePinningError, ParseShardCountError, Pinning, ShardCount};
