//! Shards that are turned by hand.
