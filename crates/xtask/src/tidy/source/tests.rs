use super::*;

fn check(text: &str, expect: &str) {
    assert_eq!(code_only(text), expect, "for {text}");
}

#[test]
fn comments_become_spaces() {
    check("a // b\nc", "a     \nc");
    check("a /* b /* c */ d */ e", "a                   e");
    check("/// unsafe\nfn f() {}", "          \nfn f() {}");
    check("a /* open", "a        ");
}

#[test]
fn literals_keep_their_quotes() {
    check(r#"f("unsafe")"#, r#"f("      ")"#);
    check(r#"f("a\"b")"#, r#"f("    ")"#);
    check("f(\"a\nb\")", "f(\" \n \")");
    check("f(r#\"a\"b\"#)", "f(r#\"   \"#)");
    check("f(br\"ab\")", "f(br\"  \")");
    check("f(\"open", "f(\"    ");
}

#[test]
fn chars_are_literals_and_lifetimes_are_not() {
    check("f('\"', 'x')", "f(' ', ' ')");
    check("f('\\'')", "f('  ')");
    check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
    check("'é' // é", "' '     ");
}

#[test]
fn an_r_inside_a_word_starts_no_raw_string() {
    check("bar\"x\"", "bar\" \"");
    check("r#type = 1", "r#type = 1");
}

#[test]
fn words_are_whole() {
    assert!(has_word("unsafe { f() }", "unsafe"));
    assert!(has_word("x=unsafe{", "unsafe"));
    assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
    assert!(!has_word("an_unsafe", "unsafe"));
}

#[test]
fn literals_vanish_where_columns_do_not_matter() {
    assert_eq!(
        without_literals("f(\"a\nb\", 'c') // \"d\""),
        "f(\"\n\", '') // \"d\""
    );
}
