//! Names to addresses, off the shard.

use std::future::poll_fn;
use std::net::ToSocketAddrs;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use ringmain_discovery::TransportAddr;
use ringmain_reactor::Address;
use ringmain_shard::SharedWaker;

/// The addresses, if none of them is a name.
pub(super) fn addresses_of(addresses: &[TransportAddr]) -> Option<Vec<Address>> {
    addresses.iter().map(numeric).collect()
}

fn numeric(address: &TransportAddr) -> Option<Address> {
    match address {
        TransportAddr::Tcp(address) => Some(Address::Ip(*address)),
        TransportAddr::Unix(path) => Some(Address::Unix(path.clone())),
        TransportAddr::Host { .. } => None,
    }
}

#[derive(Default)]
struct Answer {
    addresses: Mutex<Option<Vec<Address>>>,
    asked: SharedWaker,
}

/// Looks names up with the system's resolver, which blocks: in a thread that lives as long as the
/// look-up. Dials are bounded, and so are these. A name without an answer is left out.
pub(super) async fn resolve(addresses: Vec<TransportAddr>) -> Vec<Address> {
    let answer = Arc::new(Answer::default());
    let reply = Arc::clone(&answer);
    let body = move || {
        let found = addresses.iter().flat_map(look_up).collect();
        *reply
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(found);
        reply.asked.wake();
    };
    let thread = std::thread::Builder::new()
        .name("ringmain-resolve".to_owned())
        .spawn(body);
    if let Err(error) = thread {
        tracing::warn!(%error, "resolve.failed");
        return Vec::new();
    }
    poll_fn(|cx| {
        answer.asked.register(cx.waker());
        let found = answer
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        found.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

fn look_up(address: &TransportAddr) -> Vec<Address> {
    match address {
        TransportAddr::Host { name, port } => match (&**name, *port).to_socket_addrs() {
            Ok(found) => found.map(Address::Ip).collect(),
            Err(error) => {
                tracing::debug!(%name, %error, "resolve.failed");
                Vec::new()
            }
        },
        address => numeric(address).into_iter().collect(),
    }
}
