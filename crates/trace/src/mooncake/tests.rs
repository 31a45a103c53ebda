use super::*;

fn check_error(line: &str, expect: &str) {
    let good = r#"{"timestamp": 0, "input_length": 1, "output_length": 1}"#;
    let error = parse(&format!("{good}\n{line}\n")).unwrap_err();
    let error = crate::tests::chain(&error);
    assert!(
        error.starts_with("line 2: ") && error.contains(expect),
        "{error}"
    );
}

#[test]
fn milliseconds_keep_their_fractions() {
    for (timestamp, expect_us) in [
        ("0", 0),
        ("3536999", 3_536_999_000),
        ("1.25", 1_250),
        ("7e3", 7_000_000),
    ] {
        let line = format!(
            r#"{{"timestamp": {timestamp}, "input_length": 1, "output_length": 2, "hash_ids": [3]}}"#
        );
        assert_eq!(
            parse(&line).unwrap()[0].at,
            Duration::from_micros(expect_us),
            "{timestamp}"
        );
    }
}

#[test]
fn errors_name_the_line_and_what_is_wrong() {
    check_error("{\"timestamp\": 1", "EOF");
    check_error(
        r#"{"timestamp": 1, "input_length": 1}"#,
        "missing field `output_length`",
    );
    check_error(
        r#"{"timestamp": "1", "input_length": 1, "output_length": 1}"#,
        "invalid type",
    );
    check_error(
        r#"{"timestamp": 1, "input_length": -1, "output_length": 1}"#,
        "-1",
    );
    check_error(
        r#"{"timestamp": -5, "input_length": 1, "output_length": 1}"#,
        "timestamp -5",
    );
    check_error("time,in,out", "expected");
}
