use super::*;

fn filled(pieces: &[&[u8]]) -> PieceBox {
    let mut filled = PieceBox::default();
    for (offset, piece) in (0..).zip(pieces) {
        let meta = PieceMeta {
            message_len: Some(100),
            message_offset: offset,
            message_end: false,
            credit: 8 + u32::try_from(piece.len()).unwrap(),
        };
        filled.push(piece, meta);
    }
    filled
}

#[test]
fn a_refused_piece_stays_in_front_however_it_is_asked_for() {
    type Take = fn(&mut PieceBox) -> Option<(Vec<u8>, u32)>;
    let takes: [Take; 3] = [
        |pieces| {
            let (piece, credit) = pieces.pop()?;
            Some((piece.bytes.to_vec(), credit))
        },
        |pieces| {
            let mut seen = Vec::new();
            let credit = pieces.pop_if(|bytes, meta| {
                seen.extend_from_slice(bytes);
                meta.message_len == Some(100)
            })?;
            Some((seen, credit))
        },
        |pieces| {
            let mut seen = Vec::new();
            let credit = pieces.pop_value_if(|piece| {
                seen.extend_from_slice(&piece.bytes);
                true
            })?;
            Some((seen, credit))
        },
    ];
    for take in takes {
        let mut pieces = filled(&[b"one", b"", b"three"]);
        for expect in [&b"one"[..], b"", b"three"] {
            for _ in 0..2 {
                assert_eq!(pieces.pop_value_if(|_| false), None);
                assert_eq!(pieces.pop_if(|_, _| false), None);
                assert!(!pieces.is_empty());
            }
            let credit = 8 + u32::try_from(expect.len()).unwrap();
            assert_eq!(take(&mut pieces), Some((expect.to_vec(), credit)));
        }
        assert!(pieces.is_empty());
        assert_eq!(take(&mut pieces), None);
    }
}

#[test]
fn the_rest_of_a_piece_keeps_the_rest_of_its_credit() {
    let meta = PieceMeta {
        message_len: Some(100),
        message_offset: 10,
        message_end: true,
        credit: 48,
    };
    let rest = meta.advanced(30);
    assert_eq!((rest.message_offset, rest.credit), (40, 18));
    assert_eq!((rest.message_len, rest.message_end), (Some(100), true));
}
