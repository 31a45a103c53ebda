use super::uring::parse_release;
use super::{HostFacts, IoChoice, IoKind, refusal_reason};

fn host(kernel: (u32, u32), uring_disabled: Option<u32>) -> HostFacts {
    HostFacts {
        kernel: Some(kernel),
        uring_disabled,
        memlock_bytes: Some(65_536),
    }
}

#[test]
fn each_refusal_has_its_reason() {
    let new = host((6, 12), Some(0));
    for (errno, host, expect) in [
        (libc::EPERM, new.clone(), "seccomp"),
        (libc::EPERM, host((6, 12), None), "seccomp"),
        (libc::EACCES, new.clone(), "seccomp"),
        (libc::EPERM, host((6, 12), Some(1)), "io_uring_disabled=1"),
        (libc::EPERM, host((6, 12), Some(2)), "io_uring_disabled=2"),
        (libc::ENOSYS, new.clone(), "built without"),
        (libc::EINVAL, new.clone(), "flags"),
        (libc::ENOMEM, new.clone(), "64 KiB"),
        (libc::ENOMEM, HostFacts::default(), "no memory"),
        (libc::EMFILE, new.clone(), "ulimit -n"),
        (libc::EIO, new, "os error 5"),
        (
            libc::EPERM,
            host((6, 0), Some(2)),
            "kernel 6.0 is older than 6.1",
        ),
        (0, host((5, 15), None), "kernel 5.15 is older than 6.1"),
    ] {
        let reason = refusal_reason(errno, &host);
        assert!(reason.contains(expect), "{errno} {host:?}: {reason}");
        assert!(
            !reason.contains('\n') && !reason.contains("  "),
            "{reason:?}"
        );
    }
}

#[test]
fn kernel_releases_are_read() {
    for (text, expect) in [
        ("6.18.44-rc1\n", Some((6, 18))),
        ("5.15.0-1.el9.x86_64", Some((5, 15))),
        ("6.1", Some((6, 1))),
        ("", None),
        ("six.one", None),
        ("6", None),
    ] {
        assert_eq!(parse_release(text), expect, "{text:?}");
    }
}

#[test]
fn choices_round_trip_and_epoll_needs_no_trial() {
    for text in ["auto", "uring", "epoll"] {
        assert_eq!(text.parse::<IoChoice>().unwrap().to_string(), text);
    }
    assert!(
        "sim"
            .parse::<IoChoice>()
            .unwrap_err()
            .to_string()
            .contains("expected auto")
    );
    let resolved = IoChoice::Epoll.resolve().unwrap();
    assert_eq!((resolved.kind, resolved.reason), (IoKind::Epoll, None));
}
