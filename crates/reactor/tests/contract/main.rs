//! One suite for every driver that has a kernel, in modules named by hazard.
#![cfg(not(loom))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests, as tests do"
)]

mod buffers;
mod child;
mod close;
mod dial;
mod exhaustion;
mod listen;
mod net;
mod poll;
mod transfer;
mod wake;

/// Runs the whole suite for one driver.
macro_rules! suite {
    ($driver:ident, $factory:ty) => {
        mod $driver {
            use super::*;

            suite!(@cases $factory;
                transfer: tcp_echo, tcp6_echo, unix_echo, large_transfer_through_tiny_buffers,
                    many_sizes_on_one_connection, bytes_of_many_sockets_do_not_mix;
                dial: refused, no_such_path, closed_before_connected, options_are_applied;
                close: eof_after_data, half_closed_peer_still_hears, reset, stale_ids_do_nothing,
                    a_cut_off_send_comes_back, everything_in_flight, churn, dropped_driver,
                    last_bytes_survive_a_talkative_peer, clients_that_leave_at_once,
                    an_unread_end_keeps_its_slot;
                listen: queued_connections_are_accepted_before_the_end, taken_port,
                    handed_over_descriptors;
                buffers: held_to_the_last_one, busy_socket_pauses_at_its_quota,
                    quick_recycling_never_pauses;
                exhaustion: out_of_descriptors, out_of_slots, tiny_queues, cut_turns;
                poll: readable_until_read, unpolled;
                wake: from_another_thread, before_the_turn, time_limit, spinning;
            );
        }
    };
    (@cases $factory:ty; $($module:ident: $($case:ident),+;)+) => {
        $($(
            #[test]
            fn $case() {
                let name = concat!(module_path!(), "::", stringify!($case));
                child::name(name);
                $module::$case::<$factory>();
            }
        )+)+
    };
}

suite!(uring, net::UringFactory);
suite!(epoll, net::EpollFactory);
