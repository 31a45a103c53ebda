//! The floors, both ends as processes of the real binary: that they work, not how fast.

#![allow(clippy::unwrap_used, reason = "tests state what must hold")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};

use ringmain_bench_harness::entry::Ready;
use ringmain_bench_harness::{ConnectArgs, Load, Plan, PlanKind, Rep};

const PING_PONGS: [&str; 5] = ["tcp_spin", "tcp_block", "uds_spin", "uds_block", "shm_spin"];

/// A server that leaves with the test.
struct Server {
    child: Child,
    ready: Ready,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input is the order to leave.
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// One CPU for each end; `None` where there is only one.
fn two_cpus() -> Option<(String, String)> {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let mut allowed = (0..1024).filter(|&cpu| allowed.is_set(cpu));
    let (server, client) = (allowed.next()?, allowed.next()?);
    Some((server.to_string(), client.to_string()))
}

fn end(system: &str, mode: &str, cpu: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringmain-bench"));
    command
        .args(["end", "--system", system, mode, "--cpus", cpu])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

fn serve(system: &str, cpu: &str) -> Server {
    let mut child = end(system, "serve", cpu).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let ready: Ready = serde_json::from_str(&line).unwrap();
    Server { child, ready }
}

fn drive(system: &str, cpu: &str, server: &Server, mut plan: Plan) -> Output {
    plan.server_pid = server.ready.pid;
    plan.connect.addresses.clone_from(&server.ready.addresses);
    let mut command = end(system, "drive", cpu);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn report(system: &str, (server, client): &(String, String), plan: Plan) -> Rep {
    let server = serve(system, server);
    let output = drive(system, client, &server, plan);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{system}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A report with items in its window: on a busy host other processes can have all of a window.
fn report_of_items(system: &str, cpus: &(String, String), plan: &Plan) -> Rep {
    let mut reports = (0..20).map(|_| report(system, cpus, plan.clone()));
    reports.find(|rep| rep.figures["tokens"] > 0.0).unwrap()
}

fn plan(load: Load, kind: PlanKind) -> Plan {
    Plan {
        load,
        kind,
        streams: 1,
        item_bytes: 64,
        items: 1,
        request_bytes: 64,
        interval_us: 0,
        rate: 0,
        warm_up_ms: 20,
        window_ms: 50,
        wedged: 0,
        trace: Vec::new(),
        traced: false,
        server_pid: 0,
        broker_pid: None,
        connect: ConnectArgs::default(),
    }
}

fn assert_has(system: &str, rep: &Rep, figures: &[&str]) {
    for figure in figures {
        assert!(
            rep.figures.contains_key(*figure),
            "{system} {figure}: {rep:?}"
        );
    }
    for figure in ["wrong", "failed"] {
        assert_eq!(rep.figures[figure], 0.0, "{system} {figure}: {rep:?}");
    }
}

#[test]
fn ping_pongs_answer_rightly() {
    let Some(cpus) = two_cpus() else {
        println!("skipped: floors need two CPUs");
        return;
    };
    for system in PING_PONGS {
        let rep = report(system, &cpus, plan(Load::Closed, PlanKind::Ready));
        assert_has(
            system,
            &rep,
            &[
                "p50_us",
                "p999_us",
                "max_us",
                "calls_per_s",
                "tokens_per_s",
                "client_ns_per_token",
                "client_cpu",
                "server_rss_kib",
                "connections",
            ],
        );
        assert_eq!(rep.figures["total_tokens"], rep.figures["total_calls"]);
        assert!(rep.histograms["latency"].iter().any(|bucket| bucket.1 > 0));
    }
}

#[test]
fn messages_longer_than_one_read_come_whole() {
    let Some(cpus) = two_cpus() else {
        println!("skipped: floors need two CPUs");
        return;
    };
    for system in ["tcp_block", "uds_spin"] {
        let mut plan = plan(Load::Closed, PlanKind::Ready);
        (plan.request_bytes, plan.item_bytes) = (100_000, 300_000);
        assert_has(system, &report(system, &cpus, plan), &["p50_us"]);
    }
}

#[test]
fn a_counted_repetition_gives_no_times() {
    let Some(cpus) = two_cpus() else {
        println!("skipped: floors need two CPUs");
        return;
    };
    let mut plan = plan(Load::Closed, PlanKind::Ready);
    plan.traced = true;
    let rep = report("tcp_block", &cpus, plan);
    assert_has("tcp_block", &rep, &["client_switches_per_token"]);
    assert!(rep.histograms.is_empty() && !rep.figures.contains_key("p50_us"));
}

#[test]
fn items_of_many_streams_come_on_one_socket() {
    let Some(cpus) = two_cpus() else {
        println!("skipped: floors need two CPUs");
        return;
    };
    for kind in [PlanKind::Paced, PlanKind::Grid, PlanKind::Step] {
        let mut plan = plan(Load::Paced, kind);
        (plan.streams, plan.interval_us, plan.item_bytes) = (50, 2000, 128);
        let rep = report_of_items("bare_mux", &cpus, &plan);
        let figures = ["p99_us", "produced_p50_us", "server_ns_per_token"];
        assert_has("bare_mux", &rep, &figures);
        assert_eq!(rep.figures["connections"], 1.0);
        assert_eq!(rep.figures["total_calls"], 50.0);
        assert_eq!(rep.figures["total_tokens"] % 50.0, 0.0);
    }
}

#[test]
fn what_a_floor_cannot_do_is_said() {
    let Some((server, client)) = two_cpus() else {
        println!("skipped: floors need two CPUs");
        return;
    };
    let mut two_callers = plan(Load::Closed, PlanKind::Ready);
    two_callers.streams = 2;
    let one = plan(Load::Closed, PlanKind::Ready);
    for (system, cpu, plan, reason) in [
        ("tcp_block", &client, two_callers, "one caller"),
        ("bare_mux", &client, one.clone(), "timed items"),
        ("shm_spin", &server, one, "needs two CPUs"),
    ] {
        let serving = serve(system, &server);
        let output = drive(system, cpu, &serving, plan);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(reason),
            "{system}: {said}"
        );
    }
}
