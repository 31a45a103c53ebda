use super::*;

const MOUNTS: &str = "\
23 1 0:21 / /proc rw,relatime - proc proc rw
31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw
";

fn group(mount: &str, relative: &str) -> Option<GroupPath> {
    Some(GroupPath {
        mount: mount.into(),
        relative: relative.into(),
    })
}

#[test]
fn the_group_is_found_under_its_mount() {
    let check =
        |own: &str, mounts: &str, expect| assert_eq!(group_path(own, mounts), expect, "{own}");
    check("0::/\n", MOUNTS, group("/sys/fs/cgroup", ""));
    check(
        "0::/kubepods/pod1/c2\n",
        MOUNTS,
        group("/sys/fs/cgroup", "kubepods/pod1/c2"),
    );
    check(
        "4:cpu:/old\n0::/new\n",
        MOUNTS,
        group("/sys/fs/cgroup", "new"),
    );
    check("4:cpu:/old\n", MOUNTS, None);
    check("0::/x\n", "23 1 0:21 / /proc rw - proc proc rw\n", None);
    // Mounted from the container's own group, no group namespace.
    let part = "41 31 0:38 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    check("0::/docker/abc\n", part, group("/sys/fs/cgroup", ""));
    check(
        "0::/docker/abc/inner\n",
        part,
        group("/sys/fs/cgroup", "inner"),
    );
    // A group outside what can be seen.
    check("0::/../other\n", MOUNTS, group("/sys/fs/cgroup", ""));
    check("0::/docker/xyz\n", part, group("/sys/fs/cgroup", ""));
    for broken in ["", " - ", "x - cgroup2", "1 2 3 - cgroup2 c rw"] {
        check("0::/\n", broken, None);
    }
}

#[test]
fn the_tightest_quota_of_the_path_counts() {
    let check = |files: &[(&str, &str)], expect: Option<(u64, u64)>| {
        let path = GroupPath {
            mount: "/m".into(),
            relative: "a/b".into(),
        };
        let read = |path: &Path| {
            let found = files
                .iter()
                .find(|(name, _)| Path::new("/m").join(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        let quota = tightest(&path, read);
        let parts = quota.map(|quota| (quota.quota_us, quota.period_us.get()));
        assert_eq!(parts, expect, "{files:?}");
    };
    check(&[], None);
    check(
        &[
            ("a/b/cpu.max", "max 100000\n"),
            ("a/cpu.max", "max 100000\n"),
        ],
        None,
    );
    check(
        &[("a/b/cpu.max", "200000 100000\n")],
        Some((200_000, 100_000)),
    );
    check(
        &[("a/b/cpu.max", "max 100000"), ("a/cpu.max", "50000 100000")],
        Some((50_000, 100_000)),
    );
    check(
        &[("a/b/cpu.max", "300000 100000"), ("cpu.max", "20000 10000")],
        Some((20_000, 10_000)),
    );
    check(
        &[("a/b/cpu.max", "20000 10000"), ("cpu.max", "300000 100000")],
        Some((20_000, 10_000)),
    );
    for broken in ["", "x", "1", "1 0", "-1 5", "1 x", "99999999999999999999 1"] {
        check(&[("a/b/cpu.max", broken)], None);
    }
}

#[test]
fn quotas_round_down_but_never_to_nothing() {
    let check = |quota: u64, whole: usize, shown: &str| {
        let quota = CpuQuota::new(quota, NonZeroU64::new(100_000).expect("not zero"));
        assert_eq!(quota.whole_cpus().get(), whole);
        assert_eq!(quota.to_string(), shown);
    };
    check(0, 1, "0.00");
    check(50_000, 1, "0.50");
    check(100_000, 1, "1.00");
    check(299_999, 2, "2.99");
    check(400_000, 4, "4.00");
}
