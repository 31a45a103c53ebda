//! Links inside the caller's tokio runtime.
//!
//! Each link is one value behind one lock. A reader task feeds it: one lock per read, wakers
//! fired after it. A flusher task writes: it lets other ready tasks add to the batch first, takes
//! the out-buffer under the lock and writes it outside. No task or thread beyond these two.

mod connect;
mod dial;
mod flusher;
mod link;
mod reader;
mod stream;

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use ringmain_codec::OpenError;
use ringmain_telemetry::{Counter, Telemetry};
use tokio::runtime::Handle;

pub(crate) use self::connect::Sockets;
pub use self::connect::{Connect, Connecting, Transport};
use self::link::LinkRef;
pub(crate) use self::stream::{InlineSink, InlineStream};
use crate::call::Request;
use crate::calls::{StreamKey, Terminal};
use crate::config::ClientConfig;
use crate::driver::{Driver, Host, Opened};
use crate::error::CallError;
use crate::pool::{Dial, Pool, PoolConfig};
use crate::source::Watches;

/// The time as the runtime's clock has it, so that a paused clock works.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The links of one client.
pub(crate) struct InlineHome {
    pool: Mutex<Pool<LinkRef>>,
    watches: Arc<Watches>,
    config: Arc<ClientConfig>,
    connect: Arc<dyn Connect>,
    telemetry: Arc<Telemetry>,
    myself: Weak<Self>,
}

impl InlineHome {
    pub(crate) fn new(
        watches: Arc<Watches>,
        config: Arc<ClientConfig>,
        connect: Arc<dyn Connect>,
        telemetry: Arc<Telemetry>,
    ) -> Arc<Self> {
        let pool = Mutex::new(Pool::new(PoolConfig::new(&config, 1)));
        Arc::new_cyclic(|myself| Self {
            pool,
            watches,
            config,
            connect,
            telemetry,
            myself: myself.clone(),
        })
    }

    /// Makes the call; needs the runtime's context.
    pub(crate) async fn call(
        self: Arc<Self>,
        request: Arc<Request>,
    ) -> Result<InlineStream, CallError> {
        let deadline = request.deadline;
        let mut driver = Driver::new(InlineHost(self), request);
        let opened = poll_fn(|cx| driver.poll(cx));
        let outcome = match deadline {
            None => Some(opened.await),
            Some(deadline) => tokio::time::timeout_at(deadline.into(), opened).await.ok(),
        };
        let Opened {
            link,
            stream,
            instance,
        } = outcome.unwrap_or_else(|| Err(driver.deadline_error()))?;
        Ok(InlineStream::new(link, stream, instance))
    }

    pub(crate) fn now(&self) -> Instant {
        now()
    }

    fn count(&self, counter: Counter, n: u64) {
        if n > 0 {
            self.telemetry.process().add(counter, n);
        }
    }

    fn with_pool<R>(&self, f: impl FnOnce(&mut Pool<LinkRef>) -> R) -> R {
        let mut retired = Vec::new();
        let mut dials: Vec<Dial> = Vec::new();
        let (result, wakers) = {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            let result = f(&mut pool);
            while let Some(link) = pool.next_retired() {
                retired.push(link);
            }
            while let Some(dial) = pool.next_dial() {
                dials.push(dial);
            }
            self.count(Counter::InstancesInhibited, pool.take_inhibited_total());
            (result, pool.take_wakers())
        };
        for waker in wakers {
            waker.wake();
        }
        for link in retired {
            link.close_when_unused("instance changed");
        }
        for dial in dials {
            dial::start(&self.myself, dial);
        }
        result
    }
}

impl Drop for InlineHome {
    fn drop(&mut self) {
        let pool = self.pool.get_mut().unwrap_or_else(PoisonError::into_inner);
        for link in pool.take_links() {
            link.close_when_unused("client closed");
        }
    }
}

/// How a call's driver reaches this home.
struct InlineHost(Arc<InlineHome>);

impl Host for InlineHost {
    type Link = LinkRef;

    fn now(&self) -> Instant {
        now()
    }

    fn watches(&self) -> &Watches {
        &self.0.watches
    }

    fn with_pool<R>(&self, f: impl FnOnce(&mut Pool<LinkRef>) -> R) -> R {
        self.0.with_pool(f)
    }

    fn open(&self, link: &LinkRef, request: &Request) -> Result<StreamKey, OpenError> {
        link.open(request)
    }

    fn poll_accepted(
        &self,
        link: &LinkRef,
        stream: StreamKey,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Terminal>> {
        link.with(|state| state.calls.poll_accepted(stream, cx))
    }

    fn release(&self, link: &LinkRef, stream: StreamKey) {
        link.release(stream);
    }
}

/// The runtime that the caller is in, if any.
pub(crate) fn runtime() -> Option<Handle> {
    Handle::try_current().ok()
}

#[cfg(test)]
mod tests;
