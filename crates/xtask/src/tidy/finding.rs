use std::fmt;

/// What a finding means for the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Shown only.
    Note,
    /// Fails the gate.
    Fail,
}

/// One place that breaks a rule, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    pub(crate) path: String,
    /// Counted from 1; 0 means the whole file.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn fail(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            level: Level::Fail,
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }

    pub(crate) fn note(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            level: Level::Note,
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Note => "note",
            Level::Fail => "FAIL",
        };
        match self.line {
            0 => write!(f, "{level} {}: {}", self.path, self.message),
            line => write!(f, "{level} {}:{line}: {}", self.path, self.message),
        }
    }
}

/// Findings in the order of their file and line, as a test compares them: `path:line word`.
#[cfg(test)]
pub(crate) fn brief(findings: &[Finding]) -> Vec<String> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| (finding.path.clone(), finding.line));
    sorted.iter().map(|finding| finding.to_string()).collect()
}
