//! What the machine is and where to run: allowed CPUs, core plan, pinning.
