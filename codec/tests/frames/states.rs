//! Every state and frame of the specification (spec 9.2), driven through a connection.

use std::time::Instant;

use ringmain_codec::frame::{
    Accept, Credit, Data, End, Frame, Goaway, Hello, Kill, Open, Ping, Pong, Split, Stop, Welcome,
};
use ringmain_codec::wire::CREDIT_BYTES_MIN;
use ringmain_codec::{
    Config, Connection, ConnectionError, EndParams, Event, InstanceId, Limits, Metadata,
    OpenParams, OutBuf, Priority, RequestId, Status, StreamHandle, StreamId,
};

use crate::samples::OPEN_BARE;
use crate::specification::table;

const ID: StreamId = StreamId::new(3);

/// One connection and the bytes of its peer.
struct Bench {
    connection: Connection<Vec<u8>>,
    now: Instant,
    stream: Option<StreamHandle>,
}

fn instance() -> InstanceId {
    InstanceId::new(7).unwrap()
}

fn hello() -> Frame<'static> {
    let limits = Limits::default();
    Frame::Hello(Hello {
        version_min: 1,
        version_max: 1,
        expected_instance: 0,
        features: 0,
        limits,
    })
}

fn welcome() -> Frame<'static> {
    let (version, features, limits) = (1, 0, Limits::default());
    Frame::Welcome(Welcome {
        version,
        instance: instance(),
        features,
        limits,
    })
}

impl Bench {
    fn new(config: Config) -> Self {
        let now = Instant::now();
        let connection = Connection::new(config, now);
        let mut bench = Self {
            connection,
            now,
            stream: None,
        };
        bench.written();
        bench
    }

    /// Feeds one frame of the peer and says what became of it, in the words of the tables.
    fn feed(&mut self, frame: Frame<'_>, stream: StreamId) -> &'static str {
        let mut bytes = Vec::with_capacity(frame.encoded_len());
        frame
            .encode(stream, &mut OutBuf::new(&mut bytes, usize::MAX))
            .unwrap();
        let mut chunk = bytes.as_slice();
        let mut outcome = "quiet";
        loop {
            match self.connection.read(self.now, &mut chunk) {
                Ok(Some(event)) => {
                    if let Event::Open { stream, .. } = event {
                        self.stream = Some(stream);
                    }
                    outcome = "event";
                }
                Ok(None) if chunk.is_empty() => return outcome,
                Ok(None) => {}
                Err(ConnectionError::NotRingmain(_)) => return "foreign",
                Err(ConnectionError::PeerClosed(_)) => return "closed",
                Err(ConnectionError::StreamState { .. }) => return "error",
                Err(ConnectionError::Flood(_)) => return "flood",
                Err(other) => panic!("{frame:?} on {stream}: {other}"),
            }
        }
    }

    fn written(&mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(100_000);
        let written = self
            .connection
            .poll_transmit(self.now, &mut OutBuf::new(&mut bytes, 100_000));
        assert_eq!(written, ringmain_codec::Transmit::Drained);
        bytes
    }

    fn open(&mut self) -> StreamHandle {
        let open = OpenParams {
            request_id: RequestId([0; 16]),
            deadline: None,
            priority: Priority::Middle,
            trace: None,
            endpoint: "a.b.c",
            metadata: Metadata::EMPTY,
        };
        self.connection
            .open(self.now, &open, Some(b"ask".to_vec()), false)
            .unwrap()
    }
}

/// Stream 1 is there and over with, so that the one in question is not the first.
fn acceptor(state: &str) -> Bench {
    let mut bench = Bench::new(Config::acceptor(instance()));
    assert_eq!(bench.feed(hello(), StreamId::CONNECTION), "event");
    bench.feed(Frame::Open(OPEN_BARE), StreamId::DIALER_FIRST);
    end(&mut bench);
    bench.written();
    match state {
        "idle" => return bench,
        "input ended" => {
            let open = Open {
                end_request: true,
                ..OPEN_BARE
            };
            bench.feed(Frame::Open(open), ID);
        }
        _ => {
            bench.feed(Frame::Open(OPEN_BARE), ID);
        }
    }
    match state {
        "open" | "input ended" => {}
        "stopped" => assert_eq!(bench.feed(Frame::Stop(Stop), ID), "event"),
        "killed" => assert_eq!(bench.feed(Frame::Kill(Kill), ID), "event"),
        "ending" => end(&mut bench),
        "ended" => {
            end(&mut bench);
            bench.written();
        }
        other => panic!("no such state: {other}"),
    }
    bench
}

fn end(bench: &mut Bench) {
    let stream = bench.stream.unwrap();
    bench.connection.end(stream, EndParams::new(Status::Ok));
}

fn dialer(state: &str) -> Bench {
    let mut bench = Bench::new(Config::dialer(None));
    assert_eq!(bench.feed(welcome(), StreamId::CONNECTION), "event");
    bench.open();
    bench.written();
    if state == "idle" {
        return bench;
    }
    let stream = bench.open();
    assert_eq!(stream.id, ID);
    bench.written();
    match state {
        "open" => {}
        "accepted" => assert_eq!(bench.feed(Frame::Accept(Accept), ID), "event"),
        "killed" => bench.connection.kill(stream),
        "ended" => assert_eq!(bench.feed(Frame::End(End::of(Status::Ok)), ID), "event"),
        other => panic!("no such state: {other}"),
    }
    bench
}

fn stream_frames() -> [Frame<'static>; 7] {
    [
        Frame::Open(OPEN_BARE),
        Frame::Accept(Accept),
        Frame::Data(Data::whole(b"token")),
        Frame::End(End::of(Status::Ok)),
        Frame::Stop(Stop),
        Frame::Kill(Kill),
        Frame::Credit(Credit { bytes: 100 }),
    ]
}

/// A cell as a test sees it: what takes effect and what is dropped are both quiet.
fn seen(cell: &str) -> &str {
    if matches!(cell, "take" | "skip") {
        "quiet"
    } else {
        cell
    }
}

fn check_streams(nth: usize, states: &[&str], bench: fn(&str) -> Bench) {
    let rows = table_after(nth);
    assert_eq!(
        rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(),
        states
    );
    let mut wrong = Vec::new();
    for row in rows {
        for (cell, frame) in row[1..].iter().zip(stream_frames()) {
            let mut bench = bench(&row[0]);
            let outcome = bench.feed(frame, ID);
            if outcome != seen(cell) {
                wrong.push(format!(
                    "{} and {}: {outcome}, not {cell}",
                    row[0],
                    frame.kind()
                ));
            }
            let late = bench.connection.stats().late_frames;
            if row[0] == "ended" && cell == "skip" && late != 1 {
                wrong.push(format!("{} when ended was not counted", frame.kind()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The acceptor's table of streams is the first with this head, the dialer's is the second.
fn table_after(nth: usize) -> Vec<Vec<String>> {
    const HEAD: &str = "| state | OPEN | ACCEPT | DATA | END | STOP | KILL | CREDIT |";
    table(HEAD, nth)
}

#[test]
fn an_acceptors_streams() {
    let states = [
        "idle",
        "open",
        "input ended",
        "stopped",
        "killed",
        "ending",
        "ended",
    ];
    check_streams(0, &states, acceptor);
}

#[test]
fn a_dialers_streams() {
    check_streams(1, &["idle", "open", "accepted", "killed", "ended"], dialer);
}

#[test]
fn an_id_given_out_is_idle_until_open_is_written() {
    let row = table_after(1).swap_remove(0);
    for (cell, frame) in row[1..].iter().zip(stream_frames()) {
        let mut bench = dialer("idle");
        assert_eq!(bench.open().id, ID);
        assert_eq!(bench.feed(frame, ID), cell, "{}", frame.kind());
    }
}

#[test]
fn the_connection() {
    let ready = |dials: bool| {
        if dials {
            dialer("open")
        } else {
            acceptor("open")
        }
    };
    let goaway = Frame::Goaway(Goaway {
        last_stream: ID,
        status: Status::Draining,
        message: "",
    });
    let frames = [
        hello(),
        welcome(),
        Frame::Ping(Ping { payload: 1 }),
        Frame::Pong(Pong { payload: 1 }),
        goaway,
        Frame::Credit(Credit { bytes: 100 }),
        Frame::Stop(Stop),
    ];
    let rows = table("| end and state | HELLO |", 0);
    assert_eq!(rows.len(), 6);
    for row in rows {
        for (cell, frame) in row[1..].iter().zip(frames) {
            let mut bench = match row[0].as_str() {
                "acceptor, awaits HELLO" => Bench::new(Config::acceptor(instance())),
                "dialer, awaits WELCOME" => Bench::new(Config::dialer(None)),
                "acceptor, ready" => ready(false),
                "dialer, ready" => ready(true),
                "acceptor, sent GOAWAY" => {
                    let mut bench = ready(false);
                    bench.connection.goaway(Status::Draining, "");
                    bench.written();
                    bench
                }
                "dialer, received GOAWAY" => {
                    let mut bench = ready(true);
                    assert_eq!(bench.feed(goaway, StreamId::CONNECTION), "event");
                    bench
                }
                other => panic!("no such state: {other}"),
            };
            let is_stream = matches!(frame, Frame::Stop(_));
            if is_stream && cell.starts_with("9.2.") {
                continue;
            }
            let stream = if is_stream { ID } else { StreamId::CONNECTION };
            let outcome = bench.feed(frame, stream);
            assert_eq!(outcome, seen(cell), "{} and {}", row[0], frame.kind());
        }
    }
}

#[test]
fn an_acceptor_that_sent_goaway_skips_a_new_stream() {
    let mut bench = acceptor("open");
    bench.connection.goaway(Status::Draining, "");
    bench.written();
    let id = StreamId::new(5);
    for frame in [
        Frame::Open(Open {
            request_len: Some(3),
            request: b"ask",
            ..OPEN_BARE
        }),
        Frame::Data(Data::whole(b"more")),
        Frame::Stop(Stop),
        Frame::Credit(Credit { bytes: 100 }),
        Frame::Kill(Kill),
    ] {
        assert_eq!(bench.feed(frame, id), "quiet", "{}", frame.kind());
    }
    assert_eq!(
        bench.feed(Frame::Open(OPEN_BARE), id),
        "error",
        "the id was used"
    );
}

#[test]
fn data_after_the_end_of_the_input_is_an_error_until_the_stream_has_ended() {
    for cancel in [Frame::Stop(Stop), Frame::Kill(Kill)] {
        let mut bench = acceptor("input ended");
        assert_eq!(bench.feed(cancel, ID), "event");
        assert_eq!(bench.feed(Frame::Data(Data::whole(b"late")), ID), "error");
    }
}

#[test]
fn data_that_contradicts_its_message_or_direction_is_an_error() {
    let data = Data::whole(b"token");
    let mut bench = dialer("open");
    let ends = Frame::Data(Data {
        end_request: true,
        ..data
    });
    assert_eq!(
        bench.feed(ends, ID),
        "error",
        "an acceptor's output ends with END"
    );
    let mut bench = acceptor("open");
    let first = Frame::Data(Data {
        more: true,
        total: Some(9),
        ..data
    });
    assert_eq!(bench.feed(first, ID), "event");
    assert_eq!(
        bench.feed(Frame::Data(Data::END_OF_REQUEST), ID),
        "error",
        "a message is open"
    );
}

#[test]
fn a_later_goaway_names_no_higher_stream() {
    let mut bench = acceptor("open");
    bench.connection.goaway(Status::Draining, "");
    bench.written();
    bench.feed(Frame::Open(OPEN_BARE), StreamId::new(9));
    assert_eq!(bench.feed(hello(), StreamId::CONNECTION), "error");
    let bytes = bench.written();
    let Ok(Split::Frame { frame, .. }) = Frame::split_first(&bytes) else {
        panic!("{bytes:?}");
    };
    let (last_stream, status) = (ID, Status::ProtocolError);
    let message = "stream_state";
    assert_eq!(
        frame,
        Frame::Goaway(Goaway {
            last_stream,
            status,
            message
        })
    );
}

#[test]
fn small_grants_are_a_flood() {
    let mut bench = dialer("open");
    let credit = |bytes| Frame::Credit(Credit { bytes });
    for _ in 0..Config::dialer(None).empty_frames_max {
        assert_eq!(bench.feed(credit(CREDIT_BYTES_MIN - 1), ID), "quiet");
    }
    assert_eq!(bench.feed(credit(CREDIT_BYTES_MIN), ID), "quiet");
    assert_eq!(bench.feed(credit(1), ID), "flood");
}

#[test]
fn an_end_says_whether_the_stream_had_started() {
    let rows = table("| code | name | fault of |", 0);
    for (row, &status) in rows.iter().zip(Status::KNOWN) {
        for (state, started) in [("open", row[4].as_str()), ("accepted", "yes")] {
            let mut bench = dialer(state);
            let mut bytes = Vec::with_capacity(64);
            let end = End::of(status);
            end.encode(ID, &mut OutBuf::new(&mut bytes, 64)).unwrap();
            match bench.connection.read(bench.now, &mut bytes.as_slice()) {
                Ok(Some(Event::End { started: told, .. })) => {
                    assert_eq!(told.to_string(), started, "{status} when {state}");
                }
                other => panic!("{status}: {other:?}"),
            }
        }
    }
}
