use super::*;

const HEADER: &str = "TIMESTAMP,ContextTokens,GeneratedTokens";

fn check_error(line: &str, expect: &str) {
    let error = parse(&format!("{HEADER}\r\n\r\n{line}\r\n")).unwrap_err();
    let error = crate::tests::chain(&error);
    assert!(
        error.starts_with("line 3: ") && error.contains(expect),
        "{error}"
    );
}

#[test]
fn columns_are_found_by_name() {
    let text = "Model,GeneratedTokens,ContextTokens,TIMESTAMP\na,5,7,1970-01-01 00:00:01\n";
    let request = parse(text).unwrap()[0];
    assert_eq!(
        (
            request.at.as_secs(),
            request.prompt_tokens,
            request.generated_tokens
        ),
        (1, 7, 5)
    );
}

#[test]
fn errors_name_the_line_and_what_is_wrong() {
    check_error(
        "2023-11-16 18:15:46,374",
        "2 fields, but the header names 3",
    );
    check_error("2023-11-16 18:15:46,374,44,1", "4 fields");
    check_error("yesterday,374,44", "\"yesterday\" is no time");
    check_error("2023-11-16 18:15:46,-1,44", "ContextTokens is \"-1\"");
    check_error("2023-11-16 18:15:46,374,4.5", "GeneratedTokens is \"4.5\"");
    check_error("2023-11-16 18:15:46,99999999999,4", "ContextTokens is");
}

#[test]
fn a_header_is_known_by_its_names() {
    assert!(is_header(HEADER));
    assert!(is_header("x, TIMESTAMP ,GeneratedTokens,ContextTokens"));
    assert!(!is_header("TIMESTAMP,ContextTokens"));
    assert!(!is_header("time,in,out"));
}
