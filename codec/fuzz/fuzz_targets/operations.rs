//! Sequences of calls on two connections, and of a hostile peer's bytes between calls: credit is
//! conserved, each stream has one terminal on each side, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../../tests/pair/harness.rs"]
mod harness;
#[path = "../../tests/pair/hostile.rs"]
mod hostile;
#[path = "../../tests/pair/script.rs"]
mod script;
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../../tests/pair/side.rs"]
mod side;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[mode, stream, connection, growth, out, seed], script)) = bytes.split_first_chunk()
    else {
        return;
    };
    if mode & 1 == 1 {
        return hostile::run_hostile(seed.into(), script);
    }
    script::run(
        script::Settings {
            stream_window: 128 + 20 * u32::from(stream),
            connection_window: 128 + 30 * u32::from(connection),
            growth: 1_000 * u32::from(growth),
            out_bytes: 300 + 10 * usize::from(out),
            seed: seed.into(),
            lost: mode & 2 == 2,
        },
        script,
    );
});
