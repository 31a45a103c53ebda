//! Which set-up flags and sizes a ring gets: the best this kernel takes.

use std::fmt;
use std::io;

use io_uring::IoUring;

/// Completion queues are not made smaller than this when memory is short.
const CQ_ENTRIES_MIN: u32 = 256;

macro_rules! setup_flags {
    ($($field:ident => $name:literal,)*) => {
        /// The set-up flags of a ring.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(super) struct SetupFlags {
            $(pub(super) $field: bool,)*
        }

        impl fmt::Display for SetupFlags {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let names = [$((self.$field, $name)),*];
                let mut separator = "";
                for (_, name) in names.iter().filter(|(set, _)| *set) {
                    write!(f, "{separator}{name}")?;
                    separator = "|";
                }
                Ok(())
            }
        }
    };
}

setup_flags! {
    single_issuer => "SINGLE_ISSUER",
    defer_taskrun => "DEFER_TASKRUN",
    coop_taskrun => "COOP_TASKRUN",
    taskrun_flag => "TASKRUN_FLAG",
    submit_all => "SUBMIT_ALL",
    no_sqarray => "NO_SQARRAY",
    clamp => "CLAMP",
}

const BARE: SetupFlags = SetupFlags {
    single_issuer: false,
    defer_taskrun: false,
    coop_taskrun: false,
    taskrun_flag: false,
    submit_all: false,
    no_sqarray: false,
    clamp: false,
};
const CLAMPED: SetupFlags = SetupFlags {
    clamp: true,
    ..BARE
};
const COOP: SetupFlags = SetupFlags {
    coop_taskrun: true,
    taskrun_flag: true,
    submit_all: true,
    ..CLAMPED
};
const COOP_SINGLE: SetupFlags = SetupFlags {
    single_issuer: true,
    ..COOP
};
const DEFER: SetupFlags = SetupFlags {
    coop_taskrun: false,
    defer_taskrun: true,
    ..COOP_SINGLE
};
const BEST: SetupFlags = SetupFlags {
    no_sqarray: true,
    ..DEFER
};

/// What is tried in turn, best first.
const LADDER: [SetupFlags; 6] = [BEST, DEFER, COOP_SINGLE, COOP, CLAMPED, BARE];

/// Entries of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) sq_entries: u32,
    pub(super) cq_entries: u32,
}

impl Sizes {
    /// Sizes in powers of two, the completion queue at least as large as the submission queue.
    pub(super) fn new(sq_entries: u32, cq_entries: u32) -> Self {
        let sq_entries = sq_entries.clamp(1, 32_768).next_power_of_two();
        let cq_entries = cq_entries.clamp(sq_entries, 65_536).next_power_of_two();
        Self {
            sq_entries,
            cq_entries,
        }
    }

    fn halved(self) -> Option<Self> {
        (self.cq_entries / 2 >= CQ_ENTRIES_MIN)
            .then(|| Self::new((self.sq_entries / 2).max(1), self.cq_entries / 2))
    }
}

/// Tries flags and sizes until `build` takes some.
///
/// `EINVAL` takes away a flag, `ENOMEM` (a limit on locked memory, on older kernels) halves the
/// queues; any other error is final.
pub(super) fn descend<T>(
    sizes: Sizes,
    mut build: impl FnMut(SetupFlags, Sizes) -> io::Result<T>,
) -> io::Result<(T, SetupFlags)> {
    let mut sizes = sizes;
    let mut rung = 0;
    loop {
        let flags = LADDER[rung];
        let error = match build(flags, sizes) {
            Ok(ring) => return Ok((ring, flags)),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EINVAL) if rung + 1 < LADDER.len() => rung += 1,
            Some(libc::ENOMEM) => match sizes.halved() {
                Some(smaller) => sizes = smaller,
                None => return Err(error),
            },
            _ => return Err(error),
        }
    }
}

/// Creates a ring with exactly these flags and sizes.
pub(super) fn build(flags: SetupFlags, sizes: Sizes) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_cqsize(sizes.cq_entries).dontfork();
    if flags.single_issuer {
        builder.setup_single_issuer();
    }
    if flags.defer_taskrun {
        builder.setup_defer_taskrun();
    }
    if flags.coop_taskrun {
        builder.setup_coop_taskrun();
    }
    if flags.taskrun_flag {
        builder.setup_taskrun_flag();
    }
    if flags.submit_all {
        builder.setup_submit_all();
    }
    if flags.no_sqarray {
        builder.setup_no_sqarray();
    }
    if flags.clamp {
        builder.setup_clamp();
    }
    builder.build(sizes.sq_entries)
}

#[cfg(test)]
mod tests;
