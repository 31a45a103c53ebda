//! The plane over real sockets, one module per hazard.

mod hostile;
