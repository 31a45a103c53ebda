//! The frames behind `tests/samples/*.bin`.

use std::path::PathBuf;
use std::time::Duration;

use ringmain_codec::frame::{
    Accept, Credit, Data, End, Frame, Goaway, Hello, Kill, Open, Ping, Pong, Stop, Welcome,
};
use ringmain_codec::{
    Extensions, InstanceId, Limits, Metadata, Priority, RequestId, Status, StreamId, TraceContext,
};

/// A frame and the file that holds its bytes.
pub(crate) struct Sample<'a> {
    /// The file without its ending.
    pub(crate) name: &'a str,
    /// The stream in the header.
    pub(crate) stream: StreamId,
    /// What the bytes mean.
    pub(crate) frame: Frame<'a>,
}

/// The file of a sample.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/samples")
        .join(format!("{name}.bin"))
}

const REQUEST_ID: RequestId = RequestId(*b"0123456789abcdef");

/// The shortest request.
pub(crate) const OPEN_BARE: Open<'_> = Open {
    request_id: REQUEST_ID,
    deadline: None,
    priority: Priority::Middle,
    trace: None,
    endpoint: "a.b.c",
    metadata: Metadata::EMPTY,
    request_len: None,
    request: b"",
    end_request: false,
    extensions: Extensions::EMPTY,
};

/// Calls `check` with every sample.
pub(crate) fn each_sample(mut check: impl FnMut(Sample<'_>)) {
    let connection = StreamId::CONNECTION;
    for (name, frame) in connection_frames() {
        check(Sample {
            name,
            stream: connection,
            frame,
        });
    }
    let stream = StreamId::new(0x0102_0305);
    for (name, frame) in stream_frames() {
        check(Sample {
            name,
            stream,
            frame,
        });
    }
    let (mut pairs, mut trailers) = (Vec::new(), Vec::new());
    let metadata =
        Metadata::encode_pairs([("tenant", "blue"), ("hop", ""), ("hop", "2")], &mut pairs)
            .unwrap();
    let trailers = Metadata::encode_pairs([("tokens", "128")], &mut trailers).unwrap();
    let extensions = Extensions::parse(b"\x07\x00\x03\x00add\x09\x00\x00\x00", &[]).unwrap();
    for (name, frame) in [
        ("open", Frame::Open(open_full(metadata, extensions))),
        ("open_bare", Frame::Open(OPEN_BARE)),
        (
            "open_more",
            Frame::Open(Open {
                request_len: Some(9),
                request: b"begin",
                ..OPEN_BARE
            }),
        ),
        (
            "open_no_input",
            Frame::Open(Open {
                end_request: true,
                ..OPEN_BARE
            }),
        ),
        ("end_full", Frame::End(end_full(trailers, extensions))),
    ] {
        check(Sample {
            name,
            stream,
            frame,
        });
    }
}

fn stream_frames() -> [(&'static str, Frame<'static>); 11] {
    [
        ("accept", Frame::Accept(Accept)),
        ("stop", Frame::Stop(Stop)),
        ("kill", Frame::Kill(Kill)),
        ("credit_stream", Frame::Credit(Credit { bytes: 32_768 })),
        ("data", Frame::Data(Data::whole(b"token"))),
        ("data_empty_message", Frame::Data(Data::whole(b""))),
        (
            "data_first",
            Frame::Data(Data {
                more: true,
                total: Some(7),
                ..Data::whole(b"tok")
            }),
        ),
        (
            "data_middle",
            Frame::Data(Data {
                more: true,
                ..Data::whole(b"en")
            }),
        ),
        (
            "data_end_request",
            Frame::Data(Data {
                end_request: true,
                ..Data::whole(b"en")
            }),
        ),
        ("data_end_of_request", Frame::Data(Data::END_OF_REQUEST)),
        ("end", Frame::End(End::of(Status::Ok))),
    ]
}

fn connection_frames() -> [(&'static str, Frame<'static>); 7] {
    let limits = Limits::default();
    let instance = InstanceId::new(0x1122_3344_5566_7788).unwrap();
    [
        (
            "hello",
            Frame::Hello(Hello {
                version_min: 1,
                version_max: 2,
                expected_instance: instance.value(),
                features: 0x8000_0000_0000_0001,
                limits: Limits {
                    streams_max: 0,
                    ..limits
                },
            }),
        ),
        (
            "hello_any",
            Frame::Hello(Hello {
                version_min: 1,
                version_max: 1,
                expected_instance: 0,
                features: 0,
                limits,
            }),
        ),
        (
            "welcome",
            Frame::Welcome(Welcome {
                version: 1,
                instance,
                features: 1,
                limits,
            }),
        ),
        ("credit", Frame::Credit(Credit { bytes: 2_097_152 })),
        (
            "ping",
            Frame::Ping(Ping {
                payload: 0x0807_0605_0403_0201,
            }),
        ),
        (
            "pong",
            Frame::Pong(Pong {
                payload: 0x0807_0605_0403_0201,
            }),
        ),
        (
            "goaway",
            Frame::Goaway(Goaway {
                last_stream: StreamId::new(77),
                status: Status::Draining,
                message: "rolling update",
            }),
        ),
    ]
}

fn open_full<'a>(metadata: Metadata<'a>, extensions: Extensions<'a>) -> Open<'a> {
    Open {
        request_id: REQUEST_ID,
        deadline: Some(Duration::from_millis(2_500)),
        priority: Priority::High,
        trace: Some(TraceContext {
            trace_id: [0xaa; 16],
            span_id: [0xbb; 8],
            flags: 1,
        }),
        endpoint: "prod.worker.generate",
        metadata,
        request_len: Some(6),
        request: b"prompt",
        end_request: true,
        extensions,
    }
}

fn end_full<'a>(trailers: Metadata<'a>, extensions: Extensions<'a>) -> End<'a> {
    End {
        status: Status::Overloaded,
        message: "queue is full",
        trailers,
        retry_after: Some(Duration::from_millis(20)),
        limit: Some("requests_max"),
        extensions,
    }
}
