//! What the server needs of a runtime that runs on one thread.

use std::future::Future;
use std::io;

use ringmain_bench_harness::Timer;

/// A runtime under test.
pub(crate) trait Reactor: Copy + 'static {
    /// A connection.
    type Socket: 'static;
    /// Its timers.
    type Timer: Timer + Copy;

    /// Its timers.
    const TIMER: Self::Timer;

    /// Runs a task on this thread.
    fn spawn(task: impl Future<Output = ()> + 'static);

    /// Lets every other task that is ready run first.
    fn yield_now() -> impl Future<Output = ()>;

    /// Reads over what is in `buffer`, from its start; how many bytes.
    fn read(
        socket: &Self::Socket,
        buffer: Vec<u8>,
    ) -> impl Future<Output = (io::Result<usize>, Vec<u8>)>;

    /// Writes all of `buffer`.
    fn write_all(
        socket: &Self::Socket,
        buffer: Vec<u8>,
    ) -> impl Future<Output = (io::Result<()>, Vec<u8>)>;
}
