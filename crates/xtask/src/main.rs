//! The project's checks and chores.

fn main() {}
