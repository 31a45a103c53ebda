//! Random calls on both ends, in any order, then the invariants.

use proptest::prelude::*;

use crate::hostile::run_hostile;
use crate::script::{Settings, run};

/// Failures are shrunk and printed, and not kept in files.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn invariants_hold_for_any_sequence(
        stream_window in 128_u32..3_000,
        connection_window in 128_u32..6_000,
        growth in prop_oneof![Just(0_u32), Just(100_000)],
        out_bytes in 300_usize..3_000,
        seed in any::<u64>(),
        lost in any::<bool>(),
        script in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let settings =
            Settings { stream_window, connection_window, growth, out_bytes, seed, lost };
        run(settings, &script);
    }

    #[test]
    fn a_hostile_peer_costs_its_connection_alone(
        seed in any::<u64>(),
        script in prop::collection::vec(any::<u8>(), 0..800),
    ) {
        run_hostile(seed, &script);
    }
}
