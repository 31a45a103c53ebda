use super::*;
use crate::Interface;

fn network(interfaces: &[(&str, &[&str])], routes: &[&str]) -> HostNetwork {
    let ip = |text: &&str| text.parse::<IpAddr>().expect(text);
    let interface = |(name, addresses): &(&str, &[&str])| Interface {
        name: (*name).to_owned(),
        addresses: addresses.iter().map(ip).collect(),
    };
    let routes: Vec<_> = routes.iter().map(ip).collect();
    HostNetwork {
        interfaces: interfaces.iter().map(interface).collect(),
        route_v4: routes.iter().find(|ip| ip.is_ipv4()).copied(),
        route_v6: routes.iter().find(|ip| ip.is_ipv6()).copied(),
    }
}

fn dual_stack() -> HostNetwork {
    let interfaces: &[(&str, &[&str])] = &[
        ("lo", &["127.0.0.1", "::1"]),
        ("eth0", &["10.0.0.5", "fe80::5", "2001:db8::5"]),
        ("eth1.7", &["fe80::6", "2001:db8::6"]),
        ("bare0", &["fe80::7"]),
    ];
    network(interfaces, &["10.0.0.5", "2001:db8::5"])
}

fn v6_only() -> HostNetwork {
    network(
        &[
            ("lo", &["127.0.0.1", "::1"]),
            ("eth0", &["fe80::5", "2001:db8::5"]),
        ],
        &["2001:db8::5"],
    )
}

fn isolated() -> HostNetwork {
    network(&[("lo", &["127.0.0.1", "::1"])], &[])
}

/// One case: network, bound address, choice or `-`, scope.
fn told(case: &str) -> Result<String, AdvertiseError> {
    let fields: Vec<_> = case.split_whitespace().collect();
    let [network, bound, choice, scope] = fields[..] else {
        panic!("four fields: {case}")
    };
    let network = match network {
        "dual" => dual_stack(),
        "six" => v6_only(),
        "alone" => isolated(),
        other => panic!("no such network: {other}"),
    };
    let scope = if scope == "remote" {
        Scope::Remote
    } else {
        Scope::Local
    };
    let bound: TransportAddr = bound.parse().expect(bound);
    let address = advertise(&bound, (choice != "-").then_some(choice), scope, &network)?;
    assert!(address.is_dialable(), "{address}");
    Ok(address.to_string())
}

const TOLD: &str = "
    dual   10.0.0.5:7    -                   remote => 10.0.0.5:7
    dual   127.0.0.1:7   -                   local  => 127.0.0.1:7
    dual   0.0.0.0:7     -                   remote => 10.0.0.5:7
    dual   0.0.0.0:7     -                   local  => 10.0.0.5:7
    dual   [::]:7        -                   remote => 10.0.0.5:7
    six    [::]:7        -                   remote => [2001:db8::5]:7
    alone  0.0.0.0:7     -                   local  => 127.0.0.1:7
    alone  [::]:7        -                   local  => [::1]:7
    dual   unix:/run/x   -                   local  => unix:/run/x
    dual   0.0.0.0:7     192.0.2.9           remote => 192.0.2.9:7
    dual   0.0.0.0:7     192.0.2.9:80        remote => 192.0.2.9:80
    dual   0.0.0.0:7     2001:db8::9         remote => [2001:db8::9]:7
    dual   0.0.0.0:7     [2001:db8::9]       remote => [2001:db8::9]:7
    dual   0.0.0.0:7     [2001:db8::9]:80    remote => [2001:db8::9]:80
    dual   0.0.0.0:7     pod.example         remote => pod.example:7
    dual   0.0.0.0:7     worker-0:80         remote => worker-0:80
    dual   0.0.0.0:7     eth0                remote => 10.0.0.5:7
    dual   [::]:7        eth0                remote => 10.0.0.5:7
    six    [::]:7        eth0                remote => [2001:db8::5]:7
    dual   [::]:7        eth1.7              remote => [2001:db8::6]:7
    dual   0.0.0.0:7     127.0.0.1           remote => 127.0.0.1:7
    dual   127.0.0.1:7   10.0.0.5            remote => 10.0.0.5:7
";

const REFUSED: &str = "
    dual   127.0.0.1:7   -           remote => other hosts cannot reach
    dual   [::1]:7       -           remote => other hosts cannot reach
    dual   unix:/run/x   -           remote => other hosts cannot reach
    alone  0.0.0.0:7     -           remote => no default route
    six    0.0.0.0:7     -           remote => no default route
    dual   0.0.0.0:0     -           local  => not the address of a bound listener
    dual   10.0.0.5:0    -           local  => not the address of a bound listener
    dual   unix:x        -           local  => not the address of a bound listener
    dual   0.0.0.0:7     0.0.0.0     local  => nothing that a peer could dial
    dual   0.0.0.0:7     ::          local  => nothing that a peer could dial
    dual   0.0.0.0:7     10.0.0.5:0  local  => nothing that a peer could dial
    dual   0.0.0.0:7     eth1.7      remote => has no address that the listener answers on
    dual   [::]:7        bare0       remote => has no address that the listener answers on
    dual   0.0.0.0:7     eth9        remote => lo, eth0, eth1.7, bare0
    dual   0.0.0.0:7     unix:/x     local  => neither an address nor an interface
    dual   0.0.0.0:7     :           local  => neither an address nor an interface
";

fn cases(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| line.split_once(" => ").expect("a case and its outcome"))
}

#[test]
fn bound_addresses_become_routable_ones() {
    for (case, expect) in cases(TOLD) {
        assert_eq!(told(case).as_deref(), Ok(expect), "{case}");
    }
}

#[test]
fn nothing_unroutable_is_told() {
    for (case, part) in cases(REFUSED) {
        let error = told(case).expect_err(case).to_string();
        assert!(error.contains(part), "{case}: {error}");
    }
}
