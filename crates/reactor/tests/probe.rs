//! What a host with and without io_uring is told about it.
#![cfg(not(loom))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests, as tests do"
)]

#[path = "contract/child.rs"]
mod child;

use ringmain_reactor::driver::uring::Uring;
use ringmain_reactor::{DriverConfig, IoChoice, IoKind};

/// Makes system call `number` fail with `errno` for the rest of this process.
fn forbid(number: libc::c_long, errno: i32) {
    let statement = |code: u32, jump: (u8, u8), value: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt: jump.0,
        jf: jump.1,
        k: value,
    };
    let mut filter = [
        // The number of the call is the first word of what a filter sees.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, (0, 0), 0),
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            (0, 1),
            u32::try_from(number).unwrap(),
        ),
        statement(
            libc::BPF_RET | libc::BPF_K,
            (0, 0),
            libc::SECCOMP_RET_ERRNO | u32::try_from(errno).unwrap(),
        ),
        statement(libc::BPF_RET | libc::BPF_K, (0, 0), libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap(),
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: takes numbers only.
    let done = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(done, 0);
    // SAFETY: the kernel copies the program, which lives across the call.
    let done = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

fn check_refused(name: &'static str, number: libc::c_long, errno: i32, expect: &str) {
    child::name(name);
    child::alone(|| {
        forbid(number, errno);
        let before = child::descriptors();
        assert!(Uring::new(&DriverConfig::server()).is_err());
        let resolved = IoChoice::Auto.resolve().unwrap();
        assert_eq!(resolved.kind, IoKind::Epoll);
        let reason = resolved.reason.unwrap();
        assert!(reason.contains(expect), "{reason}");
        let error = IoChoice::Uring.resolve().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("io_uring is not available: {reason}")
        );
        let after = child::descriptors();
        assert_eq!(after, before, "a refused ring leaves nothing behind");
    });
}

#[test]
fn setup_not_permitted() {
    let name = "probe::setup_not_permitted";
    check_refused(name, libc::SYS_io_uring_setup, libc::EPERM, "seccomp");
}

#[test]
fn setup_unknown() {
    let name = "probe::setup_unknown";
    check_refused(
        name,
        libc::SYS_io_uring_setup,
        libc::ENOSYS,
        "built without",
    );
}

#[test]
fn register_not_permitted() {
    let name = "probe::register_not_permitted";
    check_refused(name, libc::SYS_io_uring_register, libc::EPERM, "seccomp");
}

#[test]
fn enter_not_permitted() {
    child::name("probe::enter_not_permitted");
    child::alone(|| {
        forbid(libc::SYS_io_uring_enter, libc::EPERM);
        // The ring itself can be made; only the trial shows that it is of no use.
        let resolved = IoChoice::Auto.resolve().unwrap();
        assert_eq!(resolved.kind, IoKind::Epoll);
        assert!(resolved.reason.unwrap().contains("seccomp"));
    });
}

#[test]
fn this_host() {
    let resolved = IoChoice::Auto.resolve().unwrap();
    match (resolved.kind, resolved.reason) {
        (IoKind::Uring, None) => {
            assert_eq!(IoChoice::Uring.resolve().unwrap().kind, IoKind::Uring);
            let text = Uring::new(&DriverConfig::server()).unwrap().describe();
            assert!(
                text.contains("SUBMIT_ALL") && text.contains("sq=4096 cq=16384"),
                "{text}"
            );
        }
        (kind, reason) if std::env::var_os("RINGMAIN_ALLOW_NO_URING").is_some() => {
            eprintln!("NOT TESTED: {kind} because {reason:?}");
        }
        (kind, reason) => panic!("{kind} because {reason:?}; RINGMAIN_ALLOW_NO_URING=1 allows it"),
    }
}
