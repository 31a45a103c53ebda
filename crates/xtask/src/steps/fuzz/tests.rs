use super::*;

#[test]
fn targets_are_the_manifests_bins() {
    let manifest = "[package]\nname = \"f\"\n[[bin]]\nname = \"decode\"\n[[bin]]\nname = \"ops\"\n";
    assert_eq!(target_names(manifest).unwrap(), ["decode", "ops"]);
}

#[test]
fn a_manifest_without_targets_is_an_error() {
    assert!(target_names("[package]\nname = \"f\"\n").is_err());
}

#[test]
fn the_host_is_read_from_the_compilers_version() {
    let version = "rustc 1.95.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n";
    assert_eq!(host_triple(version).unwrap(), "x86_64-unknown-linux-gnu");
    assert!(host_triple("rustc 1.95.0").is_err());
}
