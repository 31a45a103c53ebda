//! Naming a registry in one word.

use std::{fmt, path::PathBuf, str::FromStr};

use crate::Scope;

/// Which registry to use: `memory:`, `file:DIR` or `static:FILE`.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum RegistryUrl {
    /// In this process, for tests and single-process set-ups.
    Memory,
    /// A directory that all processes can write to.
    File(PathBuf),
    /// A list that somebody keeps by hand.
    Static(PathBuf),
}

impl RegistryUrl {
    /// How far the registry's readers may be from this host.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self {
            Self::Memory | Self::File(_) | Self::Static(_) => Scope::Local,
        }
    }
}

impl fmt::Display for RegistryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.pad("memory:"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Static(path) => write!(f, "static:{}", path.display()),
        }
    }
}

/// Why a text does not name a registry, and what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRegistryUrlError {
    /// No scheme at all.
    #[error("`{text}` names no registry: write memory:, file:DIR or static:FILE{hint}")]
    NoScheme {
        /// The text.
        text: String,
        /// What was probably meant.
        hint: String,
    },
    /// A scheme that nobody knows.
    #[error("`{scheme}:` is not a registry: use memory:, file:DIR or static:FILE")]
    UnknownScheme {
        /// The scheme.
        scheme: String,
    },
    /// A registry that is planned.
    #[error(
        "a registry in {name} is not built yet: use file:DIR on a shared directory or static:FILE for now"
    )]
    NotBuilt {
        /// Name of the store.
        name: &'static str,
    },
    /// The part after the scheme is missing or unusable.
    #[error("`{scheme}:` needs {what}")]
    Path {
        /// The scheme.
        scheme: &'static str,
        /// What is needed.
        what: &'static str,
    },
}

impl FromStr for RegistryUrl {
    type Err = ParseRegistryUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((scheme, rest)) = text.split_once(':') else {
            let looks_like_path = text.contains('/');
            let hint = if looks_like_path {
                format!("; did you mean file:{text}?")
            } else {
                String::new()
            };
            return Err(ParseRegistryUrlError::NoScheme {
                text: text.to_owned(),
                hint,
            });
        };
        match scheme {
            "memory" if rest.is_empty() => Ok(Self::Memory),
            "memory" => Err(ParseRegistryUrlError::Path {
                scheme: "memory",
                what: "nothing after the colon",
            }),
            "file" => path("file", rest, "a directory, as in file:/run/ringmain").map(Self::File),
            "static" => path(
                "static",
                rest,
                "a file, as in static:/etc/ringmain/instances.json",
            )
            .map(Self::Static),
            "etcd" | "etcds" => Err(ParseRegistryUrlError::NotBuilt { name: "etcd" }),
            "k8s" | "kube" | "kubernetes" => {
                Err(ParseRegistryUrlError::NotBuilt { name: "Kubernetes" })
            }
            _ => Err(ParseRegistryUrlError::UnknownScheme {
                scheme: scheme.to_owned(),
            }),
        }
    }
}

/// Takes `PATH`, and `///PATH` as URL writers put it; `//host/path` would silently drop the host.
fn path(
    scheme: &'static str,
    rest: &str,
    what: &'static str,
) -> Result<PathBuf, ParseRegistryUrlError> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(_) => {
            let what = "a path of this host: one slash or three, not two";
            return Err(ParseRegistryUrlError::Path { scheme, what });
        }
    };
    if path.is_empty() || path.contains('\0') {
        return Err(ParseRegistryUrlError::Path { scheme, what });
    }
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_registries_are_named() {
        let check = |text: &str, expect: RegistryUrl, shown: &str| {
            let url: RegistryUrl = text.parse().expect(text);
            assert_eq!(url, expect, "{text}");
            assert_eq!(url.to_string(), shown, "{text}");
        };
        check("memory:", RegistryUrl::Memory, "memory:");
        check(
            "file:/run/r",
            RegistryUrl::File("/run/r".into()),
            "file:/run/r",
        );
        check(
            "file:///run/r",
            RegistryUrl::File("/run/r".into()),
            "file:/run/r",
        );
        check("file:here", RegistryUrl::File("here".into()), "file:here");
        check(
            "static:/etc/a:b.json",
            RegistryUrl::Static("/etc/a:b.json".into()),
            "static:/etc/a:b.json",
        );
    }

    #[test]
    fn errors_say_what_to_write() {
        let check = |text: &str, part: &str| {
            let error = text.parse::<RegistryUrl>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        };
        check("", "write memory:, file:DIR or static:FILE");
        check("/run/r", "did you mean file:/run/r?");
        check("memory", "write memory:");
        check("memory:x", "nothing after the colon");
        check("file:", "needs a directory");
        check("file://host/dir", "not two");
        check("file://", "not two");
        check("static:", "needs a file");
        check("etcd://10.0.0.1:2379", "etcd is not built yet");
        check("kubernetes:", "Kubernetes is not built yet");
        check("consul:x", "`consul:` is not a registry");
    }
}
