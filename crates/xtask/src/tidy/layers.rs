use std::collections::BTreeSet;

use super::finding::Finding;
use super::manifests::{package_name, packages};
use super::tree::Tree;

#[cfg(test)]
mod tests;

/// A crate's place: arrows point down only.
struct Row {
    package: &'static str,
    layer: u8,
    /// Which crates of ours it may use. Tests may use any of its own layer and below.
    may_use: &'static [&'static str],
}

const CODEC: &str = "ringmain-codec";
const TUNING: &str = "ringmain-tuning";
const TELEMETRY: &str = "ringmain-telemetry";
const REACTOR: &str = "ringmain-reactor";
const SHARD: &str = "ringmain-shard";
const LINK_NATS: &str = "ringmain-link-nats";
const DISCOVERY: &str = "ringmain-discovery";
const SERVER: &str = "ringmain-server";
const CLIENT: &str = "ringmain-client";
const RUNTIME: &str = "ringmain";
const TRACE: &str = "ringmain-trace";
const TESTKIT: &str = "ringmain-testkit";
const MICRO: &str = "ringmain-bench-micro";
const CLI: &str = "ringmain-cli";
const BENCH: &str = "ringmain-bench";
const ALLOCATOR: &str = "ringmain-bench-allocator";
const HARNESS: &str = "ringmain-bench-harness";
const XTASK: &str = "xtask";

const LIBRARIES: &[&str] = &[
    CODEC, TUNING, TELEMETRY, REACTOR, SHARD, LINK_NATS, DISCOVERY, SERVER, CLIENT, RUNTIME, TRACE,
];
const BENCHED: &[&str] = &[
    CODEC, TUNING, TELEMETRY, REACTOR, SHARD, LINK_NATS, DISCOVERY, SERVER, CLIENT, RUNTIME, TRACE,
    HARNESS,
];

/// The table of ARCHITECTURE.md. A new edge is a design change, with its own review.
const ROWS: &[Row] = &[
    Row {
        package: CODEC,
        layer: 0,
        may_use: &[],
    },
    Row {
        package: TUNING,
        layer: 0,
        may_use: &[],
    },
    Row {
        package: TELEMETRY,
        layer: 0,
        may_use: &[],
    },
    Row {
        package: TRACE,
        layer: 0,
        may_use: &[],
    },
    Row {
        package: REACTOR,
        layer: 1,
        may_use: &[TUNING],
    },
    Row {
        package: SHARD,
        layer: 2,
        may_use: &[CODEC, REACTOR, TELEMETRY],
    },
    Row {
        package: LINK_NATS,
        layer: 2,
        may_use: &[CODEC, SHARD],
    },
    Row {
        package: DISCOVERY,
        layer: 2,
        may_use: &[CODEC, TELEMETRY],
    },
    Row {
        package: SERVER,
        layer: 3,
        may_use: &[CODEC, SHARD, REACTOR, TUNING, TELEMETRY],
    },
    Row {
        package: CLIENT,
        layer: 3,
        may_use: &[CODEC, SHARD, REACTOR, DISCOVERY, TELEMETRY],
    },
    Row {
        package: RUNTIME,
        layer: 4,
        may_use: &[SERVER, CLIENT, DISCOVERY, CODEC, SHARD, TELEMETRY],
    },
    Row {
        package: TESTKIT,
        layer: 5,
        may_use: LIBRARIES,
    },
    Row {
        package: MICRO,
        layer: 5,
        may_use: LIBRARIES,
    },
    Row {
        package: CLI,
        layer: 5,
        may_use: LIBRARIES,
    },
    Row {
        package: ALLOCATOR,
        layer: 0,
        may_use: &[],
    },
    Row {
        package: HARNESS,
        layer: 5,
        may_use: &[ALLOCATOR],
    },
    Row {
        package: BENCH,
        layer: 5,
        may_use: BENCHED,
    },
    Row {
        package: XTASK,
        layer: 5,
        may_use: &[],
    },
];

/// A third-party crate that only some of ours may use, so that its types stay where they belong.
struct Fence {
    crates: &'static [&'static str],
    users: &'static [&'static str],
    /// Tests elsewhere may use it too.
    tests_too: bool,
    why: &'static str,
}

/// `benches/peers` measures other systems; it is a workspace of its own, outside every fence.
const FENCES: &[Fence] = &[
    Fence {
        crates: &["io-uring", "libc"],
        users: &[REACTOR],
        tests_too: false,
        why: "rings, raw system calls and all the unsafe live in the reactor",
    },
    Fence {
        crates: &["tokio"],
        users: &[
            LINK_NATS, DISCOVERY, TELEMETRY, SERVER, CLIENT, RUNTIME, CLI, BENCH, TESTKIT,
        ],
        tests_too: false,
        why: "shards and what they stand on never run on tokio",
    },
    Fence {
        crates: &["clap", "figment", "indicatif"],
        users: &[CLI, BENCH, HARNESS, XTASK],
        tests_too: false,
        why: "only programs talk to people",
    },
    Fence {
        crates: &["anyhow"],
        users: &[CLI, BENCH, HARNESS, XTASK],
        tests_too: true,
        why: "libraries have typed errors",
    },
    Fence {
        crates: &["mimalloc"],
        users: &[CLI, BENCH],
        tests_too: false,
        why: "only programs choose the allocator",
    },
    Fence {
        crates: &["tracing"],
        users: &[
            SHARD, LINK_NATS, DISCOVERY, TELEMETRY, SERVER, CLIENT, RUNTIME, CLI, BENCH, TESTKIT,
        ],
        tests_too: false,
        why: "codec, tuning and reactor return their facts by value and know no logging",
    },
    Fence {
        crates: &["etcd-client", "kube", "k8s-openapi"],
        users: &[DISCOVERY],
        tests_too: true,
        why: "registries are known to discovery alone",
    },
    Fence {
        crates: &["async-nats"],
        users: &[LINK_NATS],
        tests_too: true,
        why: "NATS types do not leak out of its link",
    },
    Fence {
        crates: &[
            "prometheus-client",
            "opentelemetry",
            "opentelemetry-otlp",
            "axum",
            "hyper",
        ],
        users: &[TELEMETRY],
        tests_too: false,
        why: "telemetry alone exposes what is counted",
    },
    Fence {
        crates: &["tonic", "tokio-uring", "glommio", "monoio", "zmq"],
        users: &[],
        tests_too: false,
        why: "only benches/peers may use other systems",
    },
    Fence {
        crates: &["rand", "fastrand", "getrandom"],
        users: &[
            TUNING, REACTOR, SHARD, LINK_NATS, DISCOVERY, SERVER, CLIENT, RUNTIME, CLI, BENCH,
            TESTKIT,
        ],
        tests_too: true,
        why: "the codec rolls no dice",
    },
];

/// What is declared for the crate itself and its build script, or for its tests alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Code,
    Tests,
}

/// Which crates of ours may know which, and where third-party crates may appear.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let renamed = workspace_dependencies(tree);
    let manifests: Vec<_> = packages(tree).collect();
    let ours: BTreeSet<&str> = manifests
        .iter()
        .map(|(_, table)| package_name(table))
        .collect();
    let mut findings = Vec::new();
    for (file, table) in &manifests {
        let package = package_name(table);
        let Some(row) = ROWS.iter().find(|row| row.package == package) else {
            let message =
                format!("{package} has no row in the layer table (xtask, tidy/layers.rs)");
            findings.push(Finding::fail(&file.path, 0, message));
            continue;
        };
        for (dependency, used) in dependencies(table, &renamed) {
            let complaint = if ours.contains(dependency.as_str()) {
                complain_ours(row, &dependency, used)
            } else {
                complain_third_party(row, &dependency, used)
            };
            findings.extend(complaint.map(|message| Finding::fail(&file.path, 0, message)));
        }
    }
    findings
}

fn complain_ours(row: &Row, dependency: &str, used: Use) -> Option<String> {
    let layer = ROWS
        .iter()
        .find(|other| other.package == dependency)
        .map(|other| other.layer);
    let for_tests = used == Use::Tests
        && (dependency == TESTKIT || layer.is_some_and(|layer| layer <= row.layer));
    if row.may_use.contains(&dependency) || for_tests {
        return None;
    }
    let may_use = match row.may_use {
        [] => "none of our crates".to_owned(),
        crates => crates.join(", "),
    };
    Some(format!(
        "{} must not use {dependency}; it may use {may_use} (ARCHITECTURE.md, layers)",
        row.package
    ))
}

fn complain_third_party(row: &Row, dependency: &str, used: Use) -> Option<String> {
    let fence = FENCES
        .iter()
        .find(|fence| fence.crates.contains(&dependency))?;
    let allowed = fence.users.contains(&row.package) || (fence.tests_too && used == Use::Tests);
    (!allowed).then(|| format!("{} must not use {dependency}: {}", row.package, fence.why))
}

/// Keys of `[workspace.dependencies]` that stand for a package of another name.
fn workspace_dependencies(tree: &Tree) -> toml::Table {
    let root = tree
        .file("Cargo.toml")
        .and_then(|file| file.text.parse::<toml::Table>().ok());
    let table = root
        .as_ref()
        .and_then(|root| root.get("workspace")?.get("dependencies")?.as_table());
    table.cloned().unwrap_or_default()
}

/// Every dependency a manifest declares, by package name, for any platform.
fn dependencies(manifest: &toml::Table, workspace: &toml::Table) -> Vec<(String, Use)> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let places = targets.into_iter().flat_map(|targets| targets.values());
    let tables = places.filter_map(toml::Value::as_table).chain([manifest]);
    let mut found = Vec::new();
    for table in tables {
        for (section, used) in [
            ("dependencies", Use::Code),
            ("build-dependencies", Use::Code),
            ("dev-dependencies", Use::Tests),
        ] {
            let entries = table.get(section).and_then(toml::Value::as_table);
            for (key, value) in entries.into_iter().flatten() {
                let from_workspace = workspace.get(key).and_then(package_key);
                let name = package_key(value).or(from_workspace).unwrap_or(key);
                found.push((name.to_owned(), used));
            }
        }
    }
    found
}

fn package_key(value: &toml::Value) -> Option<&str> {
    value.get("package")?.as_str()
}
