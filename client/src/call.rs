//! What a caller asks for.

use std::time::{Duration, Instant};

use bytes::Bytes;
use ringmain_codec::{EndpointId, InstanceId, Metadata, Priority, RequestId, TraceContext};

use crate::error::CallError;
use crate::pick::{Policy, random_u64};

/// One request, built step by step. Cheap to clone: the data is shared.
///
/// ```
/// use std::time::Duration;
/// use ringmain_client::Call;
///
/// let call = Call::new("prompt").deadline(Duration::from_secs(30)).metadata("tenant", "a");
/// ```
#[derive(Clone, Debug)]
pub struct Call {
    data: Bytes,
    metadata: Vec<(Bytes, Bytes)>,
    deadline: Option<Duration>,
    priority: Priority,
    request_id: Option<RequestId>,
    trace: Option<TraceContext>,
    instance: Option<InstanceId>,
    policy: Option<Policy>,
}

impl Call {
    /// A request whose first (and usually only) message is `data`.
    pub fn new(data: impl Into<Bytes>) -> Self {
        Self {
            data: data.into(),
            metadata: Vec::new(),
            deadline: None,
            priority: Priority::default(),
            request_id: None,
            trace: None,
            instance: None,
            policy: None,
        }
    }

    /// Adds a pair for the handler. At most 64 pairs and 8 KiB; keys are lower-case.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// Time for the whole call, the dial and the last token included, from the call on.
    #[must_use]
    pub const fn deadline(mut self, within: Duration) -> Self {
        self.deadline = Some(within);
        self
    }

    /// Order of admission and share of the sending time.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The request's id across hops; drawn at random if not given.
    #[must_use]
    pub const fn request_id(mut self, id: RequestId) -> Self {
        self.request_id = Some(id);
        self
    }

    /// The trace this request belongs to.
    #[must_use]
    pub const fn trace(mut self, trace: TraceContext) -> Self {
        self.trace = Some(trace);
        self
    }

    /// This instance and no other, even if it is set aside at the moment.
    #[must_use]
    pub const fn instance(mut self, instance: InstanceId) -> Self {
        self.instance = Some(instance);
        self
    }

    /// How to choose among the instances; the client's own policy if not given.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Fixes what depends on the moment of the call, and checks the metadata once.
    pub(crate) fn prepare(
        self,
        endpoint: &EndpointId,
        now: Instant,
        streaming: bool,
        policy: Policy,
    ) -> Result<Request, CallError> {
        let mut metadata = Vec::new();
        Metadata::encode_pairs(self.metadata, &mut metadata).map_err(|rule| {
            CallError::Invalid {
                message: format!("metadata: {rule}"),
            }
        })?;
        Ok(Request {
            endpoint: endpoint.clone(),
            data: self.data,
            metadata,
            deadline: self.deadline.and_then(|within| now.checked_add(within)),
            priority: self.priority,
            request_id: self.request_id.unwrap_or_else(random_request_id),
            trace: self.trace,
            instance: self.instance,
            policy: self.policy.unwrap_or(policy),
            streaming,
        })
    }
}

/// A call as the machinery carries it from attempt to attempt.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) endpoint: EndpointId,
    pub(crate) data: Bytes,
    /// Checked and encoded pairs.
    pub(crate) metadata: Vec<u8>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) priority: Priority,
    pub(crate) request_id: RequestId,
    pub(crate) trace: Option<TraceContext>,
    pub(crate) instance: Option<InstanceId>,
    pub(crate) policy: Policy,
    /// Whether further messages follow the first.
    pub(crate) streaming: bool,
}

fn random_request_id() -> RequestId {
    let high = random_u64().to_be_bytes();
    let low = random_u64().to_be_bytes();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&high);
    id[8..].copy_from_slice(&low);
    RequestId(id)
}
