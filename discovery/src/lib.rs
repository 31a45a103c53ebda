//! Who serves which endpoint, and where: registry backends and lock-free snapshots.
