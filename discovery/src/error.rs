//! The crate's error: a kind to act on, a text to read and the cause below it.

use std::{error, fmt};

/// What sort of failure it was.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The registry cannot be reached, read or written now; later it may.
    Unavailable,
    /// The instance or its metadata breaks a rule and would be skipped by readers.
    InvalidInstance,
    /// The registry's own configuration is wrong: an option, or a static list that cannot be read.
    InvalidConfig,
    /// The registration has ended or was replaced by a later one.
    NotRegistered,
    /// Something of ours or of the operating system failed.
    Internal,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unavailable => "unavailable",
            Self::InvalidInstance => "invalid_instance",
            Self::InvalidConfig => "invalid_config",
            Self::NotRegistered => "not_registered",
            Self::Internal => "internal",
        })
    }
}

/// Why a registry operation did not succeed. Opaque: types of backends never show.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    text: Box<str>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<Box<str>>) -> Self {
        Self {
            kind,
            text: text.into(),
            source: None,
        }
    }

    pub(crate) fn because(self, source: impl error::Error + Send + Sync + 'static) -> Self {
        Self {
            source: Some(Box::new(source)),
            ..self
        }
    }

    /// What sort of failure it was.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the same operation may succeed later without any change by the caller.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind == ErrorKind::Unavailable
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
