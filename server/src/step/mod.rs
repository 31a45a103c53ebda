//! Pushing the tokens of many streams once per engine step.

mod batch;
mod sink;
mod writer;

pub use self::sink::{Finished, StepSink};
pub use self::writer::{FlushReport, Push, StepWriter};
