use super::*;

const AZURE: &str = "\
TIMESTAMP,ContextTokens,GeneratedTokens\r
2031-02-28 23:59:59.5000000,100,10\r
2031-03-01 00:00:00.2500000,200,20\r
2031-03-01 00:00:00.0000001,300,30";

const MOONCAKE: &str = r#"
{"timestamp": 40, "input_length": 100, "output_length": 10, "hash_ids": [0, 1]}
{"timestamp": 40, "input_length": 200, "output_length": 20, "hash_ids": [0]}

{"timestamp": 27, "input_length": 300, "output_length": 30, "hash_ids": []}
"#;

fn request(at: Duration, prompt_tokens: u32) -> TraceRequest {
    TraceRequest {
        at,
        prompt_tokens,
        generated_tokens: prompt_tokens / 10,
    }
}

/// An error as a program shows it: with what caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

#[test]
fn both_formats_become_arrivals_in_order() {
    let azure = Trace::parse(AZURE).unwrap();
    assert_eq!(
        azure.requests,
        [
            request(Duration::ZERO, 100),
            request(Duration::from_nanos(500_000_100), 300),
            request(Duration::from_millis(750), 200),
        ]
    );
    let mooncake = Trace::parse(MOONCAKE).unwrap();
    // Lines that arrive at once keep their order.
    assert_eq!(
        mooncake.requests,
        [
            request(Duration::ZERO, 300),
            request(Duration::from_millis(13), 100),
            request(Duration::from_millis(13), 200),
        ]
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_header() {
    assert_eq!(
        Trace::parse(&format!("\u{feff}{AZURE}"))
            .unwrap()
            .requests
            .len(),
        3
    );
}

#[test]
fn other_files_are_refused_with_what_would_be_taken() {
    for text in ["", "\n \n", "time,in,out\n1,2,3\n", "[1, 2]"] {
        let error = Trace::parse(text).unwrap_err().to_string();
        assert!(
            error.contains("TIMESTAMP, ContextTokens, GeneratedTokens"),
            "{text:?}: {error}"
        );
    }
    let error = Trace::parse("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        .unwrap_err()
        .to_string();
    assert_eq!(error, "the trace has no requests");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Trace::load(Path::new("no/such/trace.csv")).unwrap_err();
    let error = chain(&error);
    assert!(error.contains("no/such/trace.csv"), "{error}");
}

#[test]
fn moments_are_counted_from_the_epoch() {
    for (text, expect) in [
        ("1970-01-01 00:00:00", Some(Duration::ZERO)),
        (
            "2000-02-29 00:00:00",
            Some(Duration::from_secs(951_782_400)),
        ),
        (
            "2023-11-16T18:15:46.6805900",
            Some(Duration::new(1_700_158_546, 680_590_000)),
        ),
        (
            "2023-11-16 18:15:46.123456789123Z",
            Some(Duration::new(1_700_158_546, 123_456_789)),
        ),
        (
            "2023-11-16 19:15:46+01:00",
            Some(Duration::from_secs(1_700_158_546)),
        ),
        (
            "2023-11-16 13:45:46.5-04:30",
            Some(Duration::new(1_700_158_546, 500_000_000)),
        ),
        ("2023-02-29 00:00:00", None),
        ("2100-02-29 00:00:00", None),
        ("2023-13-01 00:00:00", None),
        ("2023-11-16 24:00:00", None),
        ("2023-11-16 18:15", None),
        ("2023-11-16 18:15:46.", None),
        ("2023-11-16 18:15:+6", None),
        ("2023-11-16", None),
        ("1970-01-01 00:00:00+01:00", None),
        ("", None),
    ] {
        assert_eq!(moment::parse(text), expect, "{text:?}");
    }
}
