//! One pinned thread, one reactor, many links: bytes in motion.
