//! The systems that can be measured, and the programs that are their ends.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// What a system is to us; decides what is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The plane under test.
    Ours,
    /// Bytes on a socket or in memory, without a protocol.
    Floor,
    /// Somebody else's plane, part of a target.
    Peer,
    /// Measured beside the peers, part of no "best peer".
    Reported,
}

/// Which binary is both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// This one.
    Own,
    /// A binary of the peers' workspace.
    Peer(&'static str),
}

/// One system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its name in tables, results and `--systems`.
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) program: Program,
    /// Options of its server.
    pub(crate) serve: &'static [&'static str],
    /// Packages whose versions say what was measured.
    pub(crate) packages: &'static [&'static str],
}

/// All systems, in the order of tables.
pub(crate) static SYSTEMS: &[Entry] = &[
    own("tcp_spin", Class::Floor),
    own("tcp_block", Class::Floor),
    own("uds_spin", Class::Floor),
    own("uds_block", Class::Floor),
    own("shm_spin", Class::Floor),
    own("bare_mux", Class::Floor),
    own("ringmain", Class::Ours),
    peer(
        "dynamo_tcp",
        "peer-dynamo",
        &["response=tcp"],
        &["dynamo-runtime"],
    ),
    peer(
        "dynamo_quic",
        "peer-dynamo",
        &["response=quic"],
        &["dynamo-runtime"],
    ),
    peer(
        "dynamo_quic0",
        "peer-dynamo",
        &["response=quic", "batch_us=0"],
        &["dynamo-runtime"],
    ),
    peer("tonic", "peer-tonic", &[], &["tonic"]),
    peer("nats", "peer-nats", &[], &["async-nats"]),
    reported("velo", "peer-velo", &[], &["velo"]),
    reported("velo_manual", "peer-velo", &["flush=manual"], &["velo"]),
    reported("tokio_mux", "peer-tokio-mux", &[], &["tokio"]),
    reported(
        "codec_tokio_uring",
        "peer-codec",
        &["runtime=tokio_uring"],
        &["tokio-uring"],
    ),
    reported(
        "codec_glommio",
        "peer-codec",
        &["runtime=glommio"],
        &["glommio"],
    ),
];

const fn own(name: &'static str, class: Class) -> Entry {
    Entry {
        name,
        class,
        program: Program::Own,
        serve: &[],
        packages: &[],
    }
}

const fn peer(
    name: &'static str,
    binary: &'static str,
    serve: &'static [&'static str],
    packages: &'static [&'static str],
) -> Entry {
    Entry {
        name,
        class: Class::Peer,
        program: Program::Peer(binary),
        serve,
        packages,
    }
}

const fn reported(
    name: &'static str,
    binary: &'static str,
    serve: &'static [&'static str],
    packages: &'static [&'static str],
) -> Entry {
    Entry {
        class: Class::Reported,
        ..peer(name, binary, serve, packages)
    }
}

/// The system of that name.
pub(crate) fn entry(name: &str) -> Option<&'static Entry> {
    SYSTEMS.iter().find(|entry| entry.name == name)
}

/// Fails with the names that exist if one of `names` does not.
pub(crate) fn check_names(names: &[String]) -> anyhow::Result<()> {
    for name in names {
        if entry(name).is_none() {
            let known: Vec<_> = SYSTEMS.iter().map(|entry| entry.name).collect();
            bail!("no system is called {name}; there are {}", known.join(", "));
        }
    }
    Ok(())
}

/// Where the programs are.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    own: PathBuf,
    peers_dir: PathBuf,
    target_dir: PathBuf,
}

impl Programs {
    /// Looks for peers in `peers_dir` and their binaries in `target_dir`, or where they are by
    /// default.
    pub(crate) fn new(peers_dir: Option<&Path>, target_dir: Option<&Path>) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let peers_dir = peers_dir.map_or_else(default_peers_dir, Path::to_owned);
        let target_dir = target_dir.map_or_else(|| peers_dir.join("target"), Path::to_owned);
        Ok(Self {
            own,
            peers_dir,
            target_dir,
        })
    }

    /// The peers' workspace.
    pub(crate) fn peers_dir(&self) -> &Path {
        &self.peers_dir
    }

    /// The folder that its builds go to.
    pub(crate) fn target_dir(&self) -> &Path {
        &self.target_dir
    }

    /// The binary of a system and its leading arguments.
    ///
    /// # Errors
    ///
    /// If a peer has not been built.
    pub(crate) fn command(&self, entry: &Entry) -> anyhow::Result<(PathBuf, Vec<String>)> {
        match entry.program {
            Program::Own => {
                let arguments = ["end", "--system", entry.name];
                Ok((self.own.clone(), arguments.map(str::to_owned).to_vec()))
            }
            Program::Peer(binary) => {
                // Built by hand, a peer with a workspace of its own has its own target folder.
                let own = self.peers_dir.join(binary.trim_start_matches("peer-"));
                let places = [self.target_dir.clone(), own.join("target")];
                let files = places.map(|place| place.join("release").join(binary));
                match files.iter().find(|file| file.is_file()) {
                    Some(file) => Ok((file.clone(), Vec::new())),
                    None => bail!(
                        "{} is not built ({} is missing): run `ringmain-bench compare`, or \
                         `cargo build --release` in {}",
                        entry.name,
                        files[0].display(),
                        self.peers_dir.display()
                    ),
                }
            }
        }
    }
}

/// `benches/peers` of the repository that this program runs in or was built from.
fn default_peers_dir() -> PathBuf {
    let here = PathBuf::from("benches/peers");
    if here.is_dir() {
        return here;
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

#[cfg(test)]
mod tests {
    use super::{Class, Programs, SYSTEMS, check_names, entry};

    #[test]
    fn names_are_unique_and_found() {
        for system in SYSTEMS {
            assert_eq!(entry(system.name), Some(system));
        }
        assert!(entry("nothing").is_none());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = check_names(&["nosuch".to_owned()]).unwrap_err().to_string();
        assert!(
            error.contains("nosuch") && error.contains("ringmain, dynamo_tcp"),
            "{error}"
        );
    }

    #[test]
    fn a_peer_that_is_not_built_says_how_to() {
        let folder = std::env::temp_dir();
        let programs = Programs::new(Some(&folder), None).unwrap();
        let error = programs.command(entry("tonic").unwrap()).unwrap_err();
        assert!(error.to_string().contains("compare"), "{error}");
        assert_eq!(entry("tokio_mux").unwrap().class, Class::Reported);
    }
}
