//! Ringmain's wire protocol as a sans-I/O state machine.
