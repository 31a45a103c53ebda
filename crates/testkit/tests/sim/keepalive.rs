//! Whom keepalive finds, and whom it lets be.
