use super::Address;

#[test]
fn text_round_trips() {
    for text in [
        "1.2.3.4:80",
        "[::1]:80",
        "0.0.0.0:0",
        "unix:/run/x.sock",
        "unix:rel",
    ] {
        let address: Address = text.parse().unwrap();
        assert_eq!(address.to_string(), text);
    }
}

#[test]
fn other_text_is_refused() {
    for text in [
        "",
        "unix:",
        "host:80",
        "1.2.3.4",
        "::1:80x",
        "[::1]",
        "1.2.3.4:70000",
    ] {
        let error = text.parse::<Address>().unwrap_err();
        assert!(error.to_string().contains("no address"), "{text}: {error}");
    }
}

#[test]
fn only_a_real_ip_is_remote_reachable() {
    for (text, expect) in [
        ("10.0.0.1:80", true),
        ("[2001:db8::1]:80", true),
        ("127.0.0.1:80", false),
        ("0.0.0.0:80", false),
        ("[::]:80", false),
        ("unix:/run/x.sock", false),
    ] {
        assert_eq!(
            text.parse::<Address>().unwrap().is_remote_reachable(),
            expect,
            "{text}"
        );
    }
}
