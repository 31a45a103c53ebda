//! Whether io_uring works here, and if not, what stands in the way.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::config::{DriverConfig, SocketOptions};
use crate::driver::uring::Uring;
use crate::event::Event;
use crate::reactor::Reactor;

/// The oldest kernel whose io_uring the driver relies on.
const KERNEL_MIN: (u32, u32) = (6, 1);

/// How long the trial may take.
const TRIAL_TIME_MAX: Duration = Duration::from_secs(1);

/// What the trial sends through a ring.
const TRIAL_BYTES: &[u8] = b"ring";

/// What a host says about itself that explains a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Major and minor version of the kernel.
    pub kernel: Option<(u32, u32)>,
    /// `kernel.io_uring_disabled`: 0 for nobody, 1 for most, 2 for everybody.
    pub uring_disabled: Option<u32>,
    /// The soft limit on locked memory.
    pub memlock_bytes: Option<u64>,
}

impl HostFacts {
    /// The facts of this host, as far as they can be read.
    #[must_use]
    pub fn read() -> Self {
        let file = |path: &str| std::fs::read_to_string(path).ok();
        Self {
            kernel: file("/proc/sys/kernel/osrelease").and_then(|text| parse_release(&text)),
            uring_disabled: file("/proc/sys/kernel/io_uring_disabled")
                .and_then(|text| text.trim().parse().ok()),
            memlock_bytes: rustix::process::getrlimit(rustix::process::Resource::Memlock).current,
        }
    }

    fn is_kernel_too_old(&self) -> bool {
        self.kernel.is_some_and(|kernel| kernel < KERNEL_MIN)
    }
}

pub(super) fn parse_release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Why the kernel answered a request for a ring with `errno`, and what would help, in one line.
#[must_use]
pub fn refusal_reason(errno: i32, host: &HostFacts) -> String {
    if let (true, Some((major, minor))) = (host.is_kernel_too_old(), host.kernel) {
        let (least_major, least_minor) = KERNEL_MIN;
        return format!("kernel {major}.{minor} is older than {least_major}.{least_minor}");
    }
    match errno {
        libc::EPERM | libc::EACCES => match host.uring_disabled {
            Some(2..) => "sysctl kernel.io_uring_disabled=2 forbids it; set it to 0".to_owned(),
            Some(1) => "sysctl kernel.io_uring_disabled=1 allows it only with CAP_SYS_ADMIN or in \
                        kernel.io_uring_group; set it to 0 or join the group"
                .to_owned(),
            _ => "not permitted, most likely by a seccomp profile (a container's default); allow \
                  io_uring_setup, io_uring_enter and io_uring_register"
                .to_owned(),
        },
        libc::ENOSYS => "the kernel was built without io_uring, or a seccomp profile or sandbox \
                         hides it; allow io_uring_setup, io_uring_enter and io_uring_register"
            .to_owned(),
        libc::EINVAL => "the kernel refuses every known set of ring flags, or has no provided \
                         buffer rings"
            .to_owned(),
        libc::ENOMEM => match host.memlock_bytes {
            Some(bytes) => format!(
                "no memory for a ring under the locked-memory limit of {} KiB; raise it (ulimit \
                 -l, LimitMEMLOCK=)",
                bytes / 1024
            ),
            None => "no memory for a ring".to_owned(),
        },
        libc::EMFILE | libc::ENFILE => {
            "no descriptor is left for a ring; raise the limit (ulimit -n, LimitNOFILE=)".to_owned()
        }
        other => std::io::Error::from_raw_os_error(other).to_string(),
    }
}

/// Makes a small driver and sends a few bytes through it, so that every part is tried that a
/// filter may forbid: set-up, registration, entering, receiving into provided buffers.
pub(super) fn try_out() -> Result<(), String> {
    let host = HostFacts::read();
    if host.is_kernel_too_old() {
        // Old kernels have bugs in what the trial would find present.
        return Err(refusal_reason(0, &host));
    }
    exchange().map_err(|error| match error.raw_os_error() {
        Some(errno) => refusal_reason(errno, &host),
        None => error.to_string(),
    })
}

fn exchange() -> std::io::Result<()> {
    let config = DriverConfig {
        recv_buffers: 2,
        recv_buffer_bytes: 64,
        sq_entries: 8,
        cq_entries: 16,
        sockets_max: 1,
        shutdown_wait: TRIAL_TIME_MAX,
        ..DriverConfig::server()
    };
    let mut driver = Uring::new(&config)?;
    let (ours, mut peer) = UnixStream::pair()?;
    let socket = driver.adopt(ours.into(), &SocketOptions::default())?;
    peer.write_all(TRIAL_BYTES)?;
    driver.send(socket, TRIAL_BYTES.to_vec());
    let due = Instant::now() + TRIAL_TIME_MAX;
    let (mut received, mut sent) = (false, false);
    while !(received && sent) {
        if Instant::now() >= due {
            return Err(std::io::Error::other(
                "a ring was made, but it moves no bytes",
            ));
        }
        driver.turn(Some(due))?;
        while let Some(event) = driver.next_event() {
            match event {
                Event::Received { buf, .. } => {
                    received = driver.bytes(&buf) == TRIAL_BYTES;
                    driver.recycle(buf);
                }
                Event::Sent { result, .. } => sent = result.map(|()| true)?,
                Event::Failed { error, .. } => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}
