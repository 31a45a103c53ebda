//! Random calls on both ends, in any order, then the invariants.

use proptest::prelude::*;

use crate::script::{Settings, run};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

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
}
