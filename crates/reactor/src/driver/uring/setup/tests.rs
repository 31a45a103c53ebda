use std::io;

use super::{BEST, CQ_ENTRIES_MIN, SetupFlags, Sizes, descend};

fn refusing(
    refused: fn(SetupFlags) -> bool,
) -> impl FnMut(SetupFlags, Sizes) -> io::Result<SetupFlags> {
    move |flags, _| {
        if refused(flags) {
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        } else {
            Ok(flags)
        }
    }
}

#[test]
fn each_flag_that_an_old_kernel_refuses_is_done_without() {
    type Case = (fn(SetupFlags) -> bool, &'static str);
    let cases: [Case; 8] = [
        (
            |_| false,
            "SINGLE_ISSUER|DEFER_TASKRUN|TASKRUN_FLAG|SUBMIT_ALL|NO_SQARRAY|CLAMP",
        ),
        (
            |f| f.no_sqarray,
            "SINGLE_ISSUER|DEFER_TASKRUN|TASKRUN_FLAG|SUBMIT_ALL|CLAMP",
        ),
        (
            |f| f.defer_taskrun,
            "SINGLE_ISSUER|COOP_TASKRUN|TASKRUN_FLAG|SUBMIT_ALL|CLAMP",
        ),
        (
            |f| f.single_issuer,
            "COOP_TASKRUN|TASKRUN_FLAG|SUBMIT_ALL|CLAMP",
        ),
        (|f| f.coop_taskrun | f.defer_taskrun, "CLAMP"),
        (|f| f.taskrun_flag, "CLAMP"),
        (|f| f.submit_all, "CLAMP"),
        (|f| f.clamp, ""),
    ];
    for (refused, expect) in cases {
        let (flags, reported) = descend(Sizes::new(8, 16), refusing(refused)).unwrap();
        assert_eq!(flags, reported);
        assert_eq!(flags.to_string(), expect);
    }
}

#[test]
fn a_kernel_that_refuses_everything_is_an_error() {
    let error = descend(Sizes::new(8, 16), refusing(|_| true)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
}

#[test]
fn short_memory_makes_the_queues_smaller_and_then_fails() {
    let mut fits_at = 4096;
    for expect in [Some(4096), None] {
        let result = descend(Sizes::new(4096, 16_384), |flags, sizes| {
            assert_eq!(flags, BEST);
            assert!(sizes.cq_entries >= CQ_ENTRIES_MIN && sizes.sq_entries >= 1);
            if sizes.cq_entries <= fits_at {
                Ok(sizes.cq_entries)
            } else {
                Err(io::Error::from_raw_os_error(libc::ENOMEM))
            }
        });
        assert_eq!(result.ok().map(|(entries, _)| entries), expect);
        fits_at = 1;
    }
}

#[test]
fn a_refusal_is_not_retried() {
    let mut calls = 0;
    let error = descend(Sizes::new(8, 16), |_, _| {
        calls += 1;
        Err::<(), _>(io::Error::from_raw_os_error(libc::EPERM))
    });
    assert_eq!(
        (error.unwrap_err().raw_os_error(), calls),
        (Some(libc::EPERM), 1)
    );
}

#[test]
fn sizes_are_made_fit() {
    for ((sq, cq), expect) in [
        ((0, 0), (1, 1)),
        ((5, 3), (8, 8)),
        ((4096, 16_384), (4096, 16_384)),
        ((1 << 20, 1 << 20), (32_768, 65_536)),
    ] {
        let sizes = Sizes::new(sq, cq);
        assert_eq!((sizes.sq_entries, sizes.cq_entries), expect);
    }
}
