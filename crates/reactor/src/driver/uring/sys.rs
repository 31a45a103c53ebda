//! The two io_uring system calls that the driver makes by itself.
//!
//! The `io-uring` crate keeps a registered ring descriptor in a borrowing submitter, which cannot
//! be stored beside its ring; here the index is a plain number.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use io_uring::EnterFlags;

const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;

/// How to name a ring to the kernel: its descriptor, or its index among the thread's registered.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingName {
    number: RawFd,
    flags: EnterFlags,
}

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct WaitArg {
    signal_mask: u64,
    signal_mask_bytes: u32,
    min_wait_us: u32,
    timespec: u64,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct KernelTimespec {
    seconds: i64,
    nanoseconds: i64,
}

/// How long an enter may wait for a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Not at all.
    No,
    /// Until there is one.
    Forever,
    /// At most this long.
    AtMost(Duration),
}

/// Registers the ring's descriptor for this thread; the plain descriptor when that is refused.
pub(super) fn register_ring(fd: RawFd) -> RingName {
    let plain = RingName {
        number: fd,
        flags: EnterFlags::empty(),
    };
    let Ok(data) = u64::try_from(fd) else {
        return plain;
    };
    let mut update = RingUpdate {
        offset: u32::MAX,
        reserved: 0,
        data,
    };
    // SAFETY: the kernel reads and writes one `RingUpdate` during the call only.
    let done = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            fd,
            REGISTER_RING_FDS,
            &raw mut update,
            1 as libc::c_uint,
        )
    };
    match RawFd::try_from(update.offset) {
        Ok(number) if done == 1 => RingName {
            number,
            flags: EnterFlags::REGISTERED_RING,
        },
        _ => plain,
    }
}

/// Undoes [`register_ring`]; without it the ring would live as long as its thread.
pub(super) fn unregister_ring(fd: RawFd, name: RingName) {
    if !name.flags.contains(EnterFlags::REGISTERED_RING) {
        return;
    }
    let offset = u32::try_from(name.number).unwrap_or(u32::MAX);
    let update = RingUpdate {
        offset,
        reserved: 0,
        data: 0,
    };
    // SAFETY: the kernel reads one `RingUpdate` during the call only. The result does not
    // matter: nothing can be done about a refusal.
    unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            fd,
            UNREGISTER_RING_FDS,
            &raw const update,
            1 as libc::c_uint,
        )
    };
}

/// Submits `submit` entries, runs deferred work, and waits.
pub(super) fn enter(name: RingName, submit: u32, wait: Wait, flags: EnterFlags) -> io::Result<u32> {
    let flags = flags | name.flags | EnterFlags::GETEVENTS;
    let Wait::AtMost(limit) = wait else {
        let complete = u32::from(wait == Wait::Forever);
        return enter_raw(name.number, submit, complete, flags, std::ptr::null(), 0);
    };
    let timespec = KernelTimespec {
        seconds: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: i64::from(limit.subsec_nanos()),
    };
    let arg = WaitArg {
        signal_mask: 0,
        signal_mask_bytes: 0,
        min_wait_us: 0,
        timespec: (&raw const timespec).addr() as u64,
    };
    // The kernel gets the address as a number, so its provenance has to be exposed.
    (&raw const timespec).expose_provenance();
    let flags = flags | EnterFlags::EXT_ARG;
    enter_raw(
        name.number,
        submit,
        1,
        flags,
        &raw const arg,
        size_of::<WaitArg>(),
    )
}

fn enter_raw(
    ring: RawFd,
    submit: u32,
    complete: u32,
    flags: EnterFlags,
    arg: *const WaitArg,
    arg_bytes: usize,
) -> io::Result<u32> {
    // SAFETY: `arg` is null or points to a `WaitArg` and a timespec in the caller's frame, read
    // during the call only. The entries submitted were vouched for when they were pushed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_io_uring_enter,
            ring,
            submit,
            complete,
            flags.bits(),
            arg,
            arg_bytes,
        )
    };
    u32::try_from(result).map_err(|_| io::Error::last_os_error())
}
