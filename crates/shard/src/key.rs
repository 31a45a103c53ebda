//! Names of links that never reach a later one.

/// One link on one shard. A key outlives its link safely: it then finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkKey {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}
