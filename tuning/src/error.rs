//! What can go wrong when the machine is read or a thread is pinned.

use std::io;

/// Why the machine could not be read or a thread not be pinned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The affinity mask could not be read.
    #[error("the allowed CPUs of this process could not be read")]
    Affinity(#[source] io::Error),
    /// The thread could not be pinned, for example to a CPU outside its cpuset.
    #[error("the thread could not be pinned to CPU {cpu}")]
    Pin {
        /// The CPU asked for.
        cpu: usize,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The kernel interface used here names CPUs below a fixed limit only.
    #[error("CPU {cpu} is beyond {max}, the last that a thread can be pinned to")]
    CpuBeyondLimit {
        /// The CPU asked for.
        cpu: usize,
        /// The largest CPU that can be named.
        max: usize,
    },
}
