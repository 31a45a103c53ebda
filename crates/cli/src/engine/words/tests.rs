use super::*;

fn check(text: &str, expect: &[&str]) {
    let pieces: Vec<&str> = split(text).collect();
    assert_eq!(pieces, expect, "for {text:?}");
    assert_eq!(pieces.concat(), text);
    assert!(
        pieces.iter().all(|piece| !piece.is_empty()),
        "an empty token streams nothing"
    );
}

#[test]
fn words_carry_the_space_before_them() {
    check("to be, or not", &["to", " be,", " or", " not"]);
    check("  two  spaces", &["  two", "  spaces"]);
    check("a\r\nb\n\n\tc", &["a", "\r\nb", "\n\n\tc"]);
}

#[test]
fn space_at_the_end_is_kept() {
    check("end.\n", &["end.", "\n"]);
    check(" \n ", &[" \n "]);
}

#[test]
fn nothing_has_no_words() {
    check("", &[]);
}

#[test]
fn words_of_any_script_stay_whole() {
    check("naïve 日本 é\u{a0}x", &["naïve", " 日本", " é", "\u{a0}x"]);
}
