//! Answers every request with the words of one text.

use std::sync::Arc;

use ringmain_codec::EndpointId;
use ringmain_server::Server;

use super::step_loop::{StepLoop, Tokens};
use super::{Pace, mock, words};

/// The whole text once, unless the caller asks for another number of tokens.
pub(super) fn install(
    server: &Server,
    endpoint: EndpointId,
    text: &str,
    pace: &Pace,
) -> anyhow::Result<()> {
    let tokens = u32::try_from(words::split(text).count()).unwrap_or(u32::MAX);
    install_looped(
        server,
        endpoint,
        text,
        &Pace {
            tokens,
            ..pace.clone()
        },
    )
}

/// As many words as `pace` says, starting over at the end.
pub(super) fn install_looped(
    server: &Server,
    endpoint: EndpointId,
    text: &str,
    pace: &Pace,
) -> anyhow::Result<()> {
    let tokens: Arc<[Box<str>]> = words::split(text).map(Box::from).collect();
    let engine = StepLoop::start("ringmain-replay", Tokens::Text(tokens))?;
    mock::serve(server, endpoint, engine, pace.clone())
}
