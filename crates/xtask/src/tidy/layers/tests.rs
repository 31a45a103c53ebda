use super::*;
use crate::tidy::finding::brief;

/// A tree with a bare manifest per row, and one manifest with the lines given.
fn check_with(package: &str, lines: &str) -> Vec<String> {
    let manifest = |name: &str| format!("[package]\nname = \"{name}\"\n");
    let mut files: Vec<(String, String)> = ROWS
        .iter()
        .filter(|row| row.package != package)
        .map(|row| {
            (
                format!("all/{}/Cargo.toml", row.package),
                manifest(row.package),
            )
        })
        .collect();
    files.push((
        "x/Cargo.toml".into(),
        format!("{}{lines}", manifest(package)),
    ));
    let root = "[workspace]\n[workspace.dependencies]\nring = { package = \"io-uring\" }\n";
    files.push(("Cargo.toml".into(), root.into()));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    brief(&check(&Tree::of(&files)))
}

fn allowed(package: &str, lines: &str) {
    assert_eq!(
        check_with(package, lines),
        [""; 0],
        "{package} with {lines}"
    );
}

fn refused(package: &str, lines: &str, why: &str) {
    let found = check_with(package, lines);
    assert_eq!(found.len(), 1, "{package} with {lines}: {found:?}");
    assert!(found[0].contains(why), "{found:?}");
}

#[test]
fn arrows_point_down_only() {
    allowed(
        SHARD,
        "[dependencies]\nringmain-codec = { workspace = true }\n",
    );
    allowed(CLI, "[dependencies]\nringmain-server.workspace = true\n");
    let why = "ringmain-codec must not use ringmain-shard; it may use none of our crates";
    refused(
        CODEC,
        "[dependencies]\nringmain-shard.workspace = true\n",
        why,
    );
    refused(
        SERVER,
        "[dependencies]\nringmain-client.workspace = true\n",
        "it may use ringmain-codec,",
    );
    refused(
        SHARD,
        "[build-dependencies]\nringmain-tuning = \"1\"\n",
        "must not use ringmain-tuning",
    );
    let target = "[target.'cfg(unix)'.dependencies]\nringmain-server.workspace = true\n";
    refused(DISCOVERY, target, "must not use ringmain-server");
}

#[test]
fn tests_may_look_sideways_but_not_up() {
    allowed(
        CLIENT,
        "[dev-dependencies]\nringmain-server.workspace = true\n",
    );
    allowed(
        CODEC,
        "[dev-dependencies]\nringmain-testkit.workspace = true\n",
    );
    refused(
        SHARD,
        "[dev-dependencies]\nringmain-server.workspace = true\n",
        "must not use",
    );
}

#[test]
fn third_party_crates_stay_inside_their_fences() {
    allowed(REACTOR, "[dependencies]\nlibc = \"0.2\"\n");
    allowed(SERVER, "[dev-dependencies]\nanyhow = \"1\"\n");
    allowed(CODEC, "[dependencies]\nslab = \"0.4\"\n");
    refused(
        SHARD,
        "[dependencies]\nlibc = \"0.2\"\n",
        "ringmain-shard must not use libc: rings,",
    );
    refused(
        SHARD,
        "[dev-dependencies]\ntokio = \"1\"\n",
        "never run on tokio",
    );
    refused(SERVER, "[dependencies]\nanyhow = \"1\"\n", "typed errors");
    refused(CODEC, "[dependencies]\ngetrandom = \"0.3\"\n", "no dice");
    refused(CLI, "[dependencies]\ntonic = \"1\"\n", "benches/peers");
}

#[test]
fn renaming_a_package_does_not_hide_it() {
    refused(
        SHARD,
        "[dependencies]\nc = { package = \"libc\", version = \"0.2\" }\n",
        "use libc",
    );
    refused(
        SHARD,
        "[dependencies]\nring.workspace = true\n",
        "use io-uring",
    );
}

#[test]
fn a_crate_without_a_row_is_refused() {
    refused("ringmain-surprise", "", "no row in the layer table");
}

#[test]
fn the_table_itself_points_down() {
    for row in ROWS {
        for user in row.may_use {
            let below = ROWS
                .iter()
                .find(|other| other.package == *user)
                .map(|other| other.layer);
            let sinks = below.is_some_and(|below| below < row.layer || row.layer == 5);
            // A link over NATS stands on the shard beside it.
            assert!(
                sinks || row.package == LINK_NATS,
                "{} -> {user}",
                row.package
            );
        }
    }
}
