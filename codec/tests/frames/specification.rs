//! The tables and examples of the specification say what the code does.

use ringmain_codec::frame::Hello;
use ringmain_codec::wire::{self, FrameKind, Header};
use ringmain_codec::{Config, EndpointId, Limits, Status, StreamId};

use crate::samples;

fn specification() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/wire.md");
    std::fs::read_to_string(path).unwrap()
}

/// The cells of each row of the `nth` table whose head starts with `head`.
pub(crate) fn table(head: &str, nth: usize) -> Vec<Vec<String>> {
    let text = specification();
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_matches('|');
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let head = format!("\n{head}");
    let Some((start, _)) = text.match_indices(&head).nth(nth) else {
        panic!("no table {head}")
    };
    let rows = text[start + 1..].lines().skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect()
}

#[test]
fn kinds_are_as_specified() {
    let rows = table("| kind | name | from |", 0);
    assert_eq!(rows.len(), FrameKind::KNOWN.len());
    for (row, &kind) in rows.iter().zip(FrameKind::KNOWN) {
        let [code, name, _, stream, flags, body] = row.as_slice() else {
            panic!("{row:?}")
        };
        assert_eq!(
            (code.as_str(), name.as_str()),
            (&*kind.code().to_string(), kind.name())
        );
        let known = FLAGS
            .iter()
            .filter(|(_, flag)| kind.flags_known() & flag != 0);
        let known: Vec<_> = known.map(|(name, _)| *name).collect();
        assert_eq!(
            flags.split_whitespace().collect::<Vec<_>>(),
            known,
            "{name}"
        );
        let takes = |id: u32, len: u16| {
            Header::new(StreamId::new(id), kind, 0, len)
                .check(kind, 1_000)
                .is_ok()
        };
        let id = u32::from(stream != "0");
        let bounds: Vec<u16> = body
            .split(" to ")
            .filter_map(|len| len.parse().ok())
            .collect();
        let (min, max) = (bounds[0], *bounds.last().unwrap());
        let max = if kind == FrameKind::Data { 1_000 } else { max };
        assert!(
            takes(id, min) && takes(id, max) && !takes(id, max + 1),
            "{name}"
        );
        assert!(min == 0 || !takes(id, min - 1), "{name}");
        assert_eq!(takes(0, min), stream.starts_with('0'), "{name}");
        assert_eq!(takes(1, min), stream.ends_with("odd"), "{name}");
    }
}

const FLAGS: [(&str, u8); 4] = [
    ("MORE", Header::MORE),
    ("END_REQUEST", Header::END_REQUEST),
    ("TOTAL", Header::TOTAL),
    ("EMPTY", Header::EMPTY),
];

#[test]
fn flags_are_as_specified() {
    let rows = table("| bit | name | meaning |", 0);
    let specified: Vec<_> = rows
        .iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let mut flags = FLAGS.map(|(name, flag)| (format!("{flag:#04x}"), name.to_owned()));
    flags.sort();
    assert_eq!(specified, flags);
}

#[test]
fn statuses_are_as_specified() {
    let rows = table("| code | name | fault of |", 0);
    let specified: Vec<_> = rows.iter().map(|row| row[..4].to_vec()).collect();
    let retry = |status: &Status| if status.is_retry_safe() { "yes" } else { "no" };
    let cells = |status: &Status| {
        let (code, blame) = (status.code().to_string(), status.blame().to_string());
        vec![
            code,
            status.name().to_owned(),
            blame,
            retry(status).to_owned(),
        ]
    };
    assert_eq!(
        specified,
        Status::KNOWN.iter().map(cells).collect::<Vec<_>>()
    );
    for row in rows {
        // What is safe to retry was refused before it started.
        assert!(row[3] == "no" || row[4] == "no", "{row:?}");
    }
}

#[test]
fn limits_are_as_specified() {
    let rows = table("| what | limit |", 0);
    let number = |text: &str| -> usize {
        let digits = text.split_whitespace().next().unwrap();
        digits.replace(',', "").parse().unwrap()
    };
    let specified: Vec<usize> = rows.iter().map(|row| number(&row[1])).collect();
    let limits = [
        wire::CONTROL_FRAME_BYTES_MAX,
        usize::from(wire::FRAGMENT_BYTES_MAX),
        wire::TEXT_BYTES_MAX,
        wire::METADATA_BYTES_MAX,
        wire::METADATA_PAIRS_MAX,
        wire::METADATA_KEY_BYTES_MAX,
        wire::EXTENSIONS_BYTES_MAX,
        wire::EXTENSIONS_MAX,
        EndpointId::BYTES_MAX,
        EndpointId::LABEL_BYTES_MAX,
        ringmain_codec::End::LIMIT_BYTES_MAX,
        wire::WINDOW_BYTES_MAX as usize,
        wire::WINDOW_BYTES_MIN as usize,
        usize::from(wire::FRAGMENT_BYTES_MIN),
    ];
    assert_eq!(specified, limits);
    let defaults = Limits::default();
    let text = specification();
    let clause = text
        .lines()
        .find(|line| line.starts_with("11.1 "))
        .unwrap()
        .replace(',', "");
    for value in [
        defaults.message_bytes_max,
        u32::from(defaults.fragment_bytes_max),
        defaults.stream_window,
        defaults.connection_window,
        defaults.streams_max,
    ] {
        assert!(
            clause.contains(&value.to_string()),
            "{value} is not in {clause}"
        );
    }
    // The largest OPEN and END that their parts allow fit a control frame.
    let parts = wire::METADATA_BYTES_MAX + wire::EXTENSIONS_BYTES_MAX;
    assert!(8 + 36 + 25 + EndpointId::BYTES_MAX + parts < wire::CONTROL_FRAME_BYTES_MAX);
    assert!(8 + 8 + wire::TEXT_BYTES_MAX + parts < wire::CONTROL_FRAME_BYTES_MAX);
}

#[test]
fn examples_are_the_files() {
    let text = specification();
    let (_, examples) = text.split_once("\n## 13. Examples").unwrap();
    let mut count = 0;
    for (at, mark) in examples.match_indices(".bin`, ") {
        let (_, name) = examples[..at].rsplit_once('`').unwrap();
        let (len, rest) = examples[at + mark.len()..].split_once(" bytes").unwrap();
        let dump = rest.split("```").nth(1).unwrap().trim_start_matches("text");
        let bytes: Vec<u8> = dump
            .split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
        assert_eq!(bytes, std::fs::read(samples::path(name)).unwrap(), "{name}");
        assert_eq!(len, bytes.len().to_string(), "{name}");
        count += 1;
    }
    assert!(count >= FrameKind::KNOWN.len(), "{count} examples");
}

#[test]
fn the_first_bytes_are_as_specified() {
    let magic: Vec<_> = Hello::MAGIC
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let first = format!("00 00 00 00  01  00  LL LL  {}", magic.join(" "));
    assert!(specification().contains(&first));
}

#[test]
fn flood_limits_are_as_specified() {
    let rows = table("| what | default |", 0);
    let number = |text: &str| -> usize {
        let digits = text.split_whitespace().next().unwrap();
        digits.replace(',', "").parse().unwrap()
    };
    let specified: Vec<_> = rows.iter().map(|row| number(&row[1])).collect();
    let config = Config::dialer(None);
    let defaults = [
        config.pings_per_second_max as usize,
        config.churn_per_second_max as usize,
        config.unknown_frames_per_second_max as usize,
        config.empty_frames_max as usize,
        config.control_frames_queued_max,
    ];
    assert_eq!(specified, defaults);
}
