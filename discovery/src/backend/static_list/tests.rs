use std::fs;

use tempfile::TempDir;

use super::*;

fn with_list<T>(text: &str, act: impl FnOnce(&Path) -> T) -> T {
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("list.json");
    fs::write(&file, text).expect("written");
    act(&file)
}

#[test]
fn the_documented_list_is_read() {
    let text = r#"[
        { "endpoint": "prod.worker.generate", "addresses": ["10.0.0.7:7000", "unix:/run/worker.sock"] },
        { "endpoint": "prod.worker.generate", "addresses": ["10.0.0.8:7000"], "id": "00000000000000a8",
          "weight": 50, "capacity": 256, "metadata": { "model": "small" } },
        { "endpoint": "prod.worker.embed", "addresses": ["unix:/run/worker.sock", "10.0.0.7:7000"] }
    ]"#;
    let instances = with_list(text, load).expect("in order");
    let [first, second, third] = &instances[..] else {
        panic!("three entries: {instances:?}")
    };
    assert_eq!(
        (first.expected_id(), first.weight, first.capacity),
        (None, 100, None)
    );
    assert_eq!(second.expected_id(), Some(second.id));
    assert_eq!(
        (second.id.value(), second.weight, second.capacity),
        (0xa8, 50, Some(256))
    );
    assert_eq!(second.metadata["model"], "small");
    // One process serves both endpoints, so both stand for the same.
    assert_eq!(third.id, first.id);
}

#[test]
fn derived_ids_are_stable() {
    let addresses = ["10.0.0.7:7000".parse().expect("an address")];
    assert_eq!(
        derived_id(&addresses).to_string(),
        derived_id(&addresses).to_string()
    );
    // Written down: links and evidence are kept under it across versions.
    assert_eq!(derived_id(&addresses).to_string(), "029969de0d11f13a");
}

#[test]
fn mistakes_are_named() {
    let check = |text: &str, part: &str| {
        let error = with_list(text, StaticStore::open)
            .map(|_| ())
            .expect_err(text);
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        let source = std::error::Error::source(&error)
            .map(ToString::to_string)
            .unwrap_or_default();
        let all = format!("{error}: {source}");
        assert!(all.contains(part), "{all}");
    };
    check("", "not in order");
    check("{}", "not in order");
    check(r#"[{"endpoint":"a.b.c"}]"#, "missing field `addresses`");
    check(
        r#"[{"endpoint":"a.b","addresses":["h:1"]}]"#,
        "namespace.component.name",
    );
    check(
        r#"[{"endpoint":"a.b.c","addresses":["h"]}]"#,
        "`h` is no address",
    );
    check(
        r#"[{"endpoint":"a.b.c","addresses":["h:1"],"port":1}]"#,
        "unknown field `port`",
    );
    check(
        r#"[{"endpoint":"a.b.c","addresses":["h:1"],"id":"7"}]"#,
        "16 hexadecimal digits",
    );
    check(
        r#"[{"endpoint":"a.b.c","addresses":["0.0.0.0:1"]}]"#,
        "entry 1: nobody could dial",
    );
    check(
        r#"[{"endpoint":"a.b.c","addresses":[]}]"#,
        "entry 1: an instance has 1 to 16",
    );
    let twin = r#"{"endpoint":"a.b.c","addresses":["h:1"]}"#;
    check(
        &format!("[{twin},{twin}]"),
        "entry 2: a.b.c has this instance already",
    );
    check(&" ".repeat(1_100_000), "larger than");
    let missing = StaticStore::open(Path::new("/no/such/list.json")).expect_err("missing");
    assert!(
        missing.to_string().contains("/no/such/list.json"),
        "{missing}"
    );
}
