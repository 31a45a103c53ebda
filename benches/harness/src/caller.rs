//! What a benchmarked system supplies.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::drive::drive;
use crate::job::Job;
use crate::plan::{ConnectArgs, Plan, ServeArgs};
use crate::report::Rep;

/// Why a call or its stream failed, for the report.
pub type Failure = anyhow::Error;

/// One end of a system, used by the jobs that run on its own executor.
pub trait Caller: Clone + 'static {
    /// The answer of a call.
    type Items: Items;

    /// Calls the server. Dropping the items before their end cancels the call.
    fn call(self, request: Bytes) -> impl Future<Output = Result<Self::Items, Failure>> + 'static;

    /// A caller with connections of its own, as a client that just started has.
    fn fresh(self) -> impl Future<Output = Result<Self, Failure>> + 'static;
}

/// The items of one call.
pub trait Items: 'static {
    /// Hands the next item to `take`; `None` after the last one arrived.
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>>;
}

/// Starts jobs on a system's executor; held by threads outside it.
///
/// An implementation is one line: spawn [`run_job`](crate::run_job) with a caller.
pub trait Launcher: Send + Sync + 'static {
    /// Runs a job. `lane` chooses the thread where there are several.
    fn launch(&self, lane: usize, job: Job);

    /// Threads that jobs can run on.
    fn lanes(&self) -> usize {
        1
    }
}

/// A server that runs until it is dropped.
pub struct Serving {
    /// Where its instances can be reached.
    pub addresses: Vec<String>,
    /// The process between client and server, if there is one.
    pub broker_pid: Option<u32>,
    /// What has to stay alive.
    pub keep: Box<dyn Any>,
}

/// A benchmarked system: both ends.
pub trait System {
    /// Starts a server; it works on threads of its own.
    ///
    /// # Errors
    ///
    /// If it cannot listen, or an option is unknown to it.
    fn serve(&self, args: &ServeArgs) -> anyhow::Result<Serving>;

    /// Starts a client and connects it.
    ///
    /// # Errors
    ///
    /// If it cannot connect, or an option is unknown to it.
    fn connect(&self, args: &ConnectArgs) -> anyhow::Result<Arc<dyn Launcher>>;

    /// Runs one repetition: connects, and puts the plan's load on the client.
    ///
    /// Only what has no calls, a bare socket, overrides it, with a loop of its own around the
    /// harness's [`Window`](crate::Window).
    ///
    /// # Errors
    ///
    /// If it cannot connect, the server does not answer, or the plan asks for a load that is
    /// not for this system.
    fn drive(&self, plan: &Plan) -> anyhow::Result<Rep> {
        drive(self.connect(&plan.connect)?, plan)
    }
}
