//! Counters of a driver.

macro_rules! io_stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of one driver since its creation; `buffers_*` are levels.
        ///
        /// A counter that a driver has no use for stays 0.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct IoStats {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl IoStats {
            /// Each counter by name, in declaration order.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

io_stats! {
    /// Turns taken.
    turns,
    /// System calls made.
    syscalls,
    /// Turns that waited in the kernel.
    parks,
    /// Timers set for those waits.
    wait_timers,
    /// Spins that found something before their time was up.
    spins_hit,
    /// Spins that found nothing.
    spins_missed,
    /// Wake-ups received from other threads.
    wakes,
    /// Events reported.
    events,
    /// Connections accepted.
    accepts,
    /// Accepts that failed.
    accepts_failed,
    /// Pauses of a listener after it ran out of descriptors or memory.
    accepts_backed_off,
    /// Times a listener that had ended or paused was started again; part of `rearmed`.
    accepts_rearmed,
    /// Connections whose accept was overtaken by `unlisten`, closed at once.
    accepts_discarded,
    /// Dials started.
    connects,
    /// Dials that failed.
    connects_failed,
    /// Closes that waited for the peer to take the last bytes.
    lingers,
    /// Sends started by `send`.
    sends,
    /// Sends that the kernel took in part and that were continued.
    sends_continued,
    /// Bytes the kernel took.
    send_bytes,
    /// Receive completions with data.
    recvs,
    /// Bytes received.
    recv_bytes,
    /// Receives that ended because no buffer was free.
    enobufs,
    /// Receives that paused because their socket held its quota of buffers.
    quota_pauses,
    /// Repeating operations that ended by themselves and were started again.
    rearmed,
    /// Times the submission queue was full.
    sq_full,
    /// Times the completion queue had overflowed.
    cq_overflow,
    /// Times the kernel asked to reap completions first.
    busy,
    /// Turns that left events for the next because `events_per_turn_max` was reached.
    turns_cut,
    /// Completions of operations already forgotten.
    stale,
    /// Cancels that found nothing to cancel.
    cancels_missed,
    /// Sockets refused because `sockets_max` was reached.
    sockets_refused,
    /// Operations the kernel still held when the driver was dropped; their memory was leaked.
    leaked,
    /// Receive buffers that exist.
    buffers_total,
    /// Receive buffers that a socket can receive into.
    buffers_free,
    /// Receive buffers on loan.
    buffers_held,
}
