use super::*;

fn report(started: u64, ok: u64, cancelled: u64, failed: u64, tokens: u64) -> String {
    serde_json::json!({
        "streams_started": started, "streams_ok": ok, "streams_cancelled": cancelled,
        "streams_failed": failed, "tokens": tokens, "io": "uring",
    })
    .to_string()
}

#[test]
fn a_run_without_loss_passes() {
    check_report(&report(10, 9, 1, 0, 100)).unwrap();
}

#[test]
fn loss_failure_and_emptiness_are_refused() {
    for (bad, why) in [
        (report(10, 8, 1, 1, 100), "1 of 10 streams failed"),
        (report(10, 8, 1, 0, 100), "10 streams started"),
        (report(0, 0, 0, 0, 0), "none of 0"),
        (report(1, 1, 0, 0, 0), "no token"),
        ("{}".to_owned(), "no count `streams_started`"),
        ("tokens: 3".to_owned(), "not JSON"),
    ] {
        let error = format!("{:#}", check_report(&bad).unwrap_err());
        assert!(error.contains(why), "{error}");
    }
}
