//! The server's tasks: one that reads, one that writes, one per stream.

use std::future::poll_fn;
use std::rc::Rc;

use ringmain_bench_harness::Producer;
use ringmain_codec::{InstanceId, Status, StreamHandle};

use crate::link::Link;
use crate::reactor::Reactor;
use crate::{READ_BYTES, UNSENT_BYTES_MAX};

/// Who answers: any instance, as this client accepts any.
const INSTANCE: u64 = 1;

/// Serves one connection to its end.
pub(crate) async fn serve_connection<R: Reactor>(socket: Rc<R::Socket>) {
    let Some(instance) = InstanceId::new(INSTANCE) else {
        return;
    };
    let link = Rc::new(Link::new(instance));
    R::spawn(write_all::<R>(Rc::clone(&link), Rc::clone(&socket)));
    read_all::<R>(&link, &socket).await;
    link.close();
}

async fn read_all<R: Reactor>(link: &Rc<Link>, socket: &R::Socket) {
    let mut buffer = vec![0; READ_BYTES];
    let mut started = Vec::new();
    loop {
        let (read, filled) = R::read(socket, buffer).await;
        buffer = filled;
        let Some(chunk) = read.ok().and_then(|len| buffer.get(..len)) else {
            return;
        };
        if chunk.is_empty() || link.read(chunk, R::TIMER, &mut started).is_err() {
            return;
        }
        for (stream, producer) in started.drain(..) {
            match producer {
                Some(producer) => R::spawn(answer::<R>(Rc::clone(link), stream, producer)),
                None => link.end(stream, Status::InvalidRequest),
            }
        }
    }
}

async fn answer<R: Reactor>(
    link: Rc<Link>,
    stream: StreamHandle,
    mut producer: Producer<R::Timer>,
) {
    poll_fn(|cx| link.poll_answer(cx, stream, &mut producer)).await;
    drop(producer);
    link.end(stream, Status::Ok);
}

async fn write_all<R: Reactor>(link: Rc<Link>, socket: Rc<R::Socket>) {
    let mut spare = Vec::with_capacity(UNSENT_BYTES_MAX);
    while link.filled().await {
        // All tasks that are ready now add their frames before one send takes them.
        R::yield_now().await;
        let out = link.take_out(spare);
        let (written, mut sent) = R::write_all(&socket, out).await;
        if written.is_err() {
            return;
        }
        sent.clear();
        spare = sent;
    }
}
