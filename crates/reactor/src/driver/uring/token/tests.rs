use super::{OPS, Op, SLOTS_MAX, Token};

#[test]
fn every_operation_round_trips_at_the_corners() {
    for op in OPS {
        for index in [0, 1, SLOTS_MAX - 1] {
            for generation in [0, 1, u32::MAX] {
                let token = Token::new(op, index, generation);
                assert_eq!(Token::decode(token.encode()), Some(token));
            }
        }
    }
}

#[test]
fn foreign_bits_are_no_token() {
    for bits in [0, 1, u64::MAX, 12 << 56] {
        assert_eq!(Token::decode(bits), None, "{bits:#x}");
    }
    assert_eq!(OPS[OPS.len() - 1], Op::Alarm);
}
