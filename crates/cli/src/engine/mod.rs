//! The engines that `ringmain` can serve without a model.

mod echo;
mod mock;
mod replay;
mod step_loop;
mod words;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};
use ringmain_codec::EndpointId;
use ringmain_server::Server;

/// Metadata key by which a caller asks for so many tokens.
pub(crate) const MAX_TOKENS: &str = "max_tokens";
/// Trailer under which an engine reports how many tokens it produced.
pub(crate) const USAGE_TOKENS: &str = "usage_tokens";

/// Which engine answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineKind {
    /// Made-up tokens at a set pace.
    Mock,
    /// The words of the request.
    Echo,
    /// The words of a file.
    Replay(PathBuf),
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "mock" => Ok(Self::Mock),
            None if text == "echo" => Ok(Self::Echo),
            Some(("replay", file)) if !file.is_empty() => Ok(Self::Replay(file.into())),
            _ => Err(format!(
                "{text:?} is no engine: use mock, echo or replay:FILE"
            )),
        }
    }
}

/// How fast an engine produces, and how often it fails on purpose.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// Tokens of an answer, unless the caller asks otherwise.
    pub(crate) tokens: u32,
    /// From the call to the first token.
    pub(crate) ttft: Duration,
    /// Between tokens.
    pub(crate) itl: Duration,
    /// Share by which each wait varies, 0 to 1.
    pub(crate) jitter: f64,
    /// Share of requests that fail in the middle, 0 to 1.
    pub(crate) fail_ratio: f64,
}

/// Serves `endpoint` with the engine.
pub(crate) fn install(
    server: &Server,
    endpoint: EndpointId,
    kind: &EngineKind,
    pace: &Pace,
) -> anyhow::Result<()> {
    match kind {
        EngineKind::Mock => mock::install(server, endpoint, pace),
        EngineKind::Echo => echo::install(server, endpoint, pace),
        EngineKind::Replay(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            if text.is_empty() {
                bail!("{} is empty: there is nothing to replay", file.display());
            }
            replay::install(server, endpoint, &text, pace)
        }
    }
}

/// Serves `endpoint` with the words of `text`, over and over, as many as `pace` says.
pub(crate) fn install_text(
    server: &Server,
    endpoint: EndpointId,
    text: &str,
    pace: &Pace,
) -> anyhow::Result<()> {
    replay::install_looped(server, endpoint, text, pace)
}

/// What the demo's workers say.
pub(crate) const DEMO_TEXT: &str = "A ring main is a loop of supply that every house on it taps: \
each one is fed from both sides, so a break in the loop leaves nobody in the dark. This text \
came to you the same way, word by word, as tokens of one stream among hundreds on one \
connection. ";
