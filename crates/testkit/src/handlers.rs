//! The endpoints that every test worker serves.

use bytes::Bytes;
use ringmain_codec::EndpointId;
use ringmain_server::{HandlerError, LocalInput, LocalSink, Request, Server};

/// Sends `count` messages of `size` bytes; the request is `count size`. Each message starts with
/// its number.
pub const COUNT: &str = "test.worker.count";
/// Sends every message of the input back.
pub const ECHO: &str = "test.worker.echo";
/// Takes the whole input and answers with its messages and bytes.
pub const TAKE: &str = "test.worker.take";
/// Sends one message, then waits to be stopped; a stopped one says `stopped`.
pub const HANG: &str = "test.worker.hang";
/// Panics.
pub const PANIC: &str = "test.worker.panic";

pub(crate) fn serve_all(server: &Server) {
    let serve = |name: &str| -> EndpointId {
        let Ok(endpoint) = name.parse() else {
            panic!("{name} is an endpoint id")
        };
        endpoint
    };
    let served = [
        server.serve_local(serve(COUNT), |_| count),
        server.serve_local(serve(ECHO), |_| echo),
        server.serve_local(serve(TAKE), |_| take),
        server.serve_local(serve(HANG), |_| hang),
        server.serve_local(serve(PANIC), |_| fail),
    ];
    for outcome in served {
        assert_eq!(outcome, Ok(()), "a fresh server serves each endpoint once");
    }
}

async fn count(request: Request<LocalInput>, mut sink: LocalSink) -> Result<(), HandlerError> {
    let text = String::from_utf8_lossy(&request.data).into_owned();
    let mut numbers = text.split(' ').map(str::parse::<usize>);
    let (Some(Ok(count)), Some(Ok(size))) = (numbers.next(), numbers.next()) else {
        return Err(HandlerError::invalid_request("want: count size"));
    };
    let mut message = vec![b'x'; size.max(8)];
    for number in 0..count {
        message[..8].copy_from_slice(&(number as u64).to_le_bytes());
        sink.send(&message[..size.max(8)]).await?;
    }
    Ok(())
}

async fn echo(request: Request<LocalInput>, mut sink: LocalSink) -> Result<(), HandlerError> {
    let Request {
        data, mut input, ..
    } = request;
    sink.send(&data).await?;
    while let Some(message) = input.next().await {
        sink.send(&message).await?;
    }
    Ok(())
}

async fn take(request: Request<LocalInput>, mut sink: LocalSink) -> Result<(), HandlerError> {
    let Request {
        data, mut input, ..
    } = request;
    let (mut messages, mut bytes) = (1, data.len());
    while let Some(message) = input.next().await {
        messages += 1;
        bytes += Bytes::len(&message);
    }
    sink.send(format!("{messages} {bytes}").as_bytes()).await?;
    Ok(())
}

async fn hang(request: Request<LocalInput>, mut sink: LocalSink) -> Result<(), HandlerError> {
    sink.send(b"first").await?;
    request.context.stopped().await;
    sink.send(b"stopped").await?;
    sink.add_trailer("usage_tokens", "2");
    Ok(())
}

async fn fail(_request: Request<LocalInput>, _sink: LocalSink) -> Result<(), HandlerError> {
    panic!("a handler that panics, as the test wants")
}
