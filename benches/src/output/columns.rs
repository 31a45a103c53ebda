//! Which figures of each workload are shown, in which unit.

/// One figure of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Column {
    /// Its name in results.
    pub(crate) figure: &'static str,
    /// With its unit.
    pub(crate) title: &'static str,
    /// From the unit of results to that of the title.
    pub(crate) scale: f64,
    /// Shown with its range.
    pub(crate) key: bool,
    /// Shown as a multiple of the reference too.
    pub(crate) ratio: bool,
    /// A count of things.
    pub(crate) whole: bool,
}

const fn column(figure: &'static str, title: &'static str) -> Column {
    Column {
        figure,
        title,
        scale: 1.0,
        key: false,
        ratio: false,
        whole: false,
    }
}

impl Column {
    const fn key(self) -> Self {
        Self { key: true, ..self }
    }

    const fn ratio(self) -> Self {
        Self {
            key: true,
            ratio: true,
            ..self
        }
    }

    const fn whole(self) -> Self {
        Self {
            whole: true,
            ..self
        }
    }

    const fn scale(self, scale: f64) -> Self {
        Self { scale, ..self }
    }
}

const P50: Column = column("p50_us", "p50 µs").key();
const P99: Column = column("p99_us", "p99 µs").key();
const P999: Column = column("p999_us", "p99.9 µs");
const MAX: Column = column("max_us", "max µs");
const SERVER_CALL: Column = column("server_ns_per_token", "server µs/call")
    .scale(1e-3)
    .key();
const CLIENT_CALL: Column = column("client_ns_per_token", "client µs/call").scale(1e-3);
const BROKER_CALL: Column = column("broker_ns_per_token", "broker µs/call").scale(1e-3);
const SERVER_ITEM: Column = column("server_ns_per_token", "server ns/item").key();
const CLIENT_ITEM: Column = column("client_ns_per_token", "client ns/item");
const BROKER_ITEM: Column = column("broker_ns_per_token", "broker ns/item");
const CALLS: Column = column("calls_per_s", "calls/s");
const ITEMS: Column = column("tokens_per_s", "items/s");
const SERVER_CPU: Column = column("server_cpu", "server CPU %").scale(100.0);
const CLIENT_CPU: Column = column("client_cpu", "client CPU %").scale(100.0);
const SERVER_RSS: Column = column("server_rss_kib", "server MiB").scale(1.0 / 1024.0);
const CLIENT_RSS: Column = column("client_rss_kib", "client MiB").scale(1.0 / 1024.0);
const LINKS: Column = column("connections", "conns").whole();

/// Counted in a repetition of their own.
const COUNTED: [Column; 6] = [
    column("server_syscalls_per_token", "server sys/item"),
    column("client_syscalls_per_token", "client sys/item"),
    column("server_allocations_per_token", "server alloc/item"),
    column("client_allocations_per_token", "client alloc/item"),
    column("server_switches_per_token", "server csw/item"),
    column("client_switches_per_token", "client csw/item"),
];

const FLOOR: &[Column] = &[P50.ratio(), P99, P999, SERVER_CALL, CLIENT_CALL];
const RTT: &[Column] = &[
    P50.ratio(),
    P99,
    P999,
    SERVER_CALL,
    CLIENT_CALL,
    BROKER_CALL,
];
const RPS: &[Column] = &[
    CALLS.key(),
    SERVER_CALL.ratio(),
    CLIENT_CALL,
    BROKER_CALL,
    P50,
    P99,
    P999,
    column("generator_p99_us", "late p99 µs"),
];
const STREAM: &[Column] = &[
    ITEMS.key(),
    SERVER_ITEM.ratio(),
    CLIENT_ITEM,
    BROKER_ITEM,
    column("ttft_p50_us", "first p50 µs"),
    SERVER_RSS,
    CLIENT_RSS,
    LINKS,
];
const PACED: &[Column] = &[
    P50,
    P99.ratio(),
    P999,
    MAX,
    SERVER_ITEM,
    SERVER_CPU,
    CLIENT_CPU,
    column("server_rss_kib_per_stream", "server KiB/stream"),
    LINKS,
];
const STEP: &[Column] = &[
    column("produced_p50_us", "p50 µs").ratio(),
    column("produced_p99_us", "p99 µs").key(),
    SERVER_ITEM.ratio(),
    CLIENT_ITEM,
    BROKER_ITEM,
    SERVER_CPU,
    column("server_syscalls_per_step", "server sys/step"),
    LINKS,
];
const BURST: &[Column] = &[
    column("ttft_p50_us", "first p50 µs").ratio(),
    column("ttft_p99_us", "first p99 µs").ratio(),
    column("ttft_max_us", "first max µs"),
    SERVER_CALL,
    CLIENT_CALL,
    column("rounds", "rounds").whole(),
    LINKS,
];
const CANCEL: &[Column] = &[P50.ratio(), P99, MAX];
const CHURN: &[Column] = &[CALLS.key(), P50.ratio(), P99, SERVER_CALL, CLIENT_CALL];
const PICK: &[Column] = &[
    column("pick_p50_ns", "p50 ns").key(),
    column("pick_mean_ns", "mean ns").key(),
    column("allocations_per_pick", "alloc/pick"),
    column("changes_per_s", "changes/s"),
];
const MIXED: &[Column] = &[P50, P99.ratio(), P999, ITEMS, SERVER_ITEM, CLIENT_ITEM];
const RELAY: &[Column] = &[
    ITEMS.key(),
    SERVER_ITEM.ratio(),
    column("broker_ns_per_token", "worker ns/item"),
    CLIENT_ITEM,
    P50,
    LINKS,
];
const FLEET: &[Column] = &[
    LINKS,
    ITEMS,
    SERVER_ITEM.ratio(),
    CLIENT_ITEM,
    column("server_syscalls_per_step", "server sys/step"),
    column("produced_p50_us", "p50 µs").key(),
    column("produced_p99_us", "p99 µs"),
    SERVER_RSS,
];
const LARGE: &[Column] = &[
    column("bytes_per_s", "MB/s").scale(1e-6).key(),
    P50,
    P99,
    P999,
    SERVER_CPU,
    CLIENT_CPU,
    SERVER_RSS,
];
const TRACE: &[Column] = &[
    column("ttft_p50_us", "first p50 µs"),
    column("ttft_p99_us", "first p99 µs"),
    P50,
    P99,
    P999,
    ITEMS,
    SERVER_ITEM,
];

/// The columns of a workload; those without a figure in any row are left out of tables.
pub(crate) fn columns(workload: &str) -> &'static [Column] {
    match workload {
        "floor" => FLOOR,
        "rtt" => RTT,
        "rps" => RPS,
        "stream" => STREAM,
        "paced" => PACED,
        "step" => STEP,
        "burst" => BURST,
        "cancel" => CANCEL,
        "churn" => CHURN,
        "pick" => PICK,
        "mixed" => MIXED,
        "relay" => RELAY,
        "fleet" => FLEET,
        "large" => LARGE,
        _ => TRACE,
    }
}

/// What is counted for each item, where it was.
pub(crate) fn counted() -> &'static [Column] {
    &COUNTED
}

/// The distribution that shows a workload best.
pub(crate) fn key_histogram(workload: &str) -> &'static str {
    match workload {
        "burst" => "ttft",
        "step" | "fleet" => "produced",
        _ => "latency",
    }
}

/// The parameter that splits a workload's rows into tables of what can be compared.
pub(crate) fn split_by(workload: &str) -> Option<&'static str> {
    match workload {
        "rps" => Some("load"),
        "stream" => Some("kind"),
        "paced" => Some("streams"),
        _ => None,
    }
}
