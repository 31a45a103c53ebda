//! Completion-style I/O for one thread: io_uring, epoll and simulation drivers.
