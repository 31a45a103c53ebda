//! One file per verb.

mod call;
mod demo;
mod serve;

pub(crate) use self::call::call;
pub(crate) use self::demo::demo;
pub(crate) use self::serve::serve;
