//! Every metric of the project: name, label, unit, kind and help text. No other file spells a
//! metric name.

/// One fixed label of a metric; the values of a family are known when the program is built.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct Label {
    /// Label key, for example `code`.
    pub key: &'static str,
    /// Label value, for example `overloaded`.
    pub value: &'static str,
}

/// Whether a metric only grows or follows a level.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Kind {
    /// Only grows; its name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// What one stored step of a metric means.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Unit {
    /// Things: links, streams, turns.
    Count,
    /// Bytes.
    Bytes,
    /// Kept in whole microseconds, shown in seconds.
    Micros,
}

impl Unit {
    /// Stored steps per shown unit: a sample is shown as `value / divisor`.
    #[must_use]
    pub const fn divisor(self) -> u64 {
        match self {
            Self::Count | Self::Bytes => 1,
            Self::Micros => 1_000_000,
        }
    }

    /// Name of the shown unit, empty for plain counts.
    #[must_use]
    pub const fn shown(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Bytes => "bytes",
            Self::Micros => "seconds",
        }
    }
}

/// How the values of several shards become one.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Aggregate {
    /// The shards' values are added.
    Sum,
    /// The largest of the shards' values counts.
    Max,
}

/// All that is known about a metric besides its value.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct Descriptor {
    /// Full name; counters with the same name and different labels form one family.
    pub name: &'static str,
    /// The label that tells members of a family apart.
    pub label: Option<Label>,
    /// Counter or gauge.
    pub kind: Kind,
    /// What a stored step means.
    pub unit: Unit,
    /// How shards are merged.
    pub aggregate: Aggregate,
    /// One sentence for operators; the same for a whole family.
    pub help: &'static str,
}

macro_rules! label {
    () => {
        None
    };
    ($value:literal) => {
        Some(Label {
            key: "code",
            value: $value,
        })
    };
}

macro_rules! metrics {
    ($(#[$outer:meta])* $enum:ident, $kind:ident; $(
        $variant:ident = $name:literal $([code = $label:literal])?,
            $unit:ident, $aggregate:ident, $help:literal;
    )*) => {
        $(#[$outer])*
        #[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
        #[repr(usize)]
        pub enum $enum {
            $(#[doc = $help] $variant,)*
        }

        impl $enum {
            /// Every variant, in the order of the enum.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Number of variants.
            pub const COUNT: usize = Self::ALL.len();

            /// Name, label, unit and help text.
            #[must_use]
            pub const fn descriptor(self) -> &'static Descriptor {
                match self {
                    $(Self::$variant => const { &Descriptor {
                        name: $name,
                        label: label!($($label)?),
                        kind: Kind::$kind,
                        unit: Unit::$unit,
                        aggregate: Aggregate::$aggregate,
                        help: $help,
                    } },)*
                }
            }

            /// Position in a cell array.
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

metrics! {
    /// Everything that is counted.
    ///
    /// A stream that was started ends in exactly one of `StreamsOk`, `StreamsCancelled` and
    /// `StreamsFailed`; one that was turned away before it started is in exactly one of the
    /// `StreamsRejected*` counters.
    Counter, Counter;

    LinksOpened = "ringmain_links_opened_total", Count, Sum, "Links whose handshake completed.";
    LinksClosed = "ringmain_links_closed_total", Count, Sum, "Links that closed after their handshake.";
    LinksRefused = "ringmain_links_refused_total", Count, Sum, "Connections turned away before or during the handshake.";

    StreamsStarted = "ringmain_streams_started_total", Count, Sum, "Streams handed to a handler, or opened by a client.";
    StreamsOk = "ringmain_streams_ok_total", Count, Sum, "Streams that ended well.";
    StreamsCancelled = "ringmain_streams_cancelled_total", Count, Sum, "Streams that ended because the caller stopped or killed them.";
    StreamsFailed = "ringmain_streams_failed_total", Count, Sum, "Streams that ended in an error after they had started.";
    StreamsRejectedOverloaded = "ringmain_streams_rejected_total" [code = "overloaded"], Count, Sum, "Streams turned away before they started, by reason.";
    StreamsRejectedDraining = "ringmain_streams_rejected_total" [code = "draining"], Count, Sum, "Streams turned away before they started, by reason.";
    StreamsRejectedUnknownEndpoint = "ringmain_streams_rejected_total" [code = "unknown_endpoint"], Count, Sum, "Streams turned away before they started, by reason.";
    StreamsRejectedDeadline = "ringmain_streams_rejected_total" [code = "deadline_exceeded"], Count, Sum, "Streams turned away before they started, by reason.";

    TokensSent = "ringmain_tokens_sent_total", Count, Sum, "Stream messages written to links.";
    TokensReceived = "ringmain_tokens_received_total", Count, Sum, "Stream messages read from links.";
    BytesSent = "ringmain_sent_bytes_total", Bytes, Sum, "Bytes handed to the kernel for sending.";
    BytesReceived = "ringmain_received_bytes_total", Bytes, Sum, "Bytes received from the kernel.";
    Sends = "ringmain_sends_total", Count, Sum, "Send operations submitted.";
    Receives = "ringmain_receives_total", Count, Sum, "Receive completions with data.";

    FlushesUrgent = "ringmain_flushes_total" [code = "urgent"], Count, Sum, "Out-buffer flushes, by what triggered them.";
    FlushesSize = "ringmain_flushes_total" [code = "size"], Count, Sum, "Out-buffer flushes, by what triggered them.";
    FlushesTurns = "ringmain_flushes_total" [code = "turns"], Count, Sum, "Out-buffer flushes, by what triggered them.";
    FlushesIdle = "ringmain_flushes_total" [code = "idle"], Count, Sum, "Out-buffer flushes, by what triggered them.";

    Enobufs = "ringmain_enobufs_total", Count, Sum, "Receives that found no free buffer.";
    SqFull = "ringmain_sq_full_total", Count, Sum, "Submissions that found the submission queue full.";
    CqOverflow = "ringmain_cq_overflow_total", Count, Sum, "Times the completion queue overflowed.";
    Accepts = "ringmain_accepts_total", Count, Sum, "Connections accepted by a listener.";
    AcceptErrors = "ringmain_accept_errors_total", Count, Sum, "Accepts that failed, for example for want of descriptors.";
    ListenerRearmed = "ringmain_listener_rearmed_total", Count, Sum, "Times a listener was armed again after it ended.";

    CreditStalls = "ringmain_credit_stalls_total", Count, Sum, "Messages that could not be written at once for want of credit.";
    QueueFull = "ringmain_queue_full_total", Count, Sum, "Times an admission or request queue was full.";
    SinkFull = "ringmain_sink_full_total", Count, Sum, "Pushes refused because a stream's sink was full.";
    Discards = "ringmain_discards_total", Count, Sum, "Frames dropped because their stream had ended.";
    ProtocolErrors = "ringmain_protocol_errors_total", Count, Sum, "Links closed because the peer broke the protocol.";
    Floods = "ringmain_floods_total", Count, Sum, "Links closed because the peer sent too many cheap frames.";
    HandshakeTimeouts = "ringmain_handshake_timeouts_total", Count, Sum, "Links closed because the handshake took too long.";
    PeerUnresponsive = "ringmain_peer_unresponsive_total", Count, Sum, "Links closed because the peer went silent.";
    MailboxFull = "ringmain_mailbox_full_total", Count, Sum, "Items that found a shard's mailbox full.";
    BatchesRefused = "ringmain_batches_refused_total", Count, Sum, "Engine batches kept for the next flush because their shard was behind.";

    CopiesBytes = "ringmain_copied_bytes_total", Bytes, Sum, "Payload bytes copied between buffers.";

    KeepaliveMisses = "ringmain_keepalive_misses_total", Count, Sum, "Keepalive intervals of links that passed without a byte.";
    WindowGrowthRefused = "ringmain_window_growth_refused_total", Count, Sum, "Times a stream window could not grow because the budget for it was used up.";
    SocketsRefused = "ringmain_sockets_refused_total", Count, Sum, "Connections refused because a shard had its maximum of sockets.";
    HandlerPanics = "ringmain_handler_panics_total", Count, Sum, "Handlers that panicked.";
    Wakes = "ringmain_wakes_total", Count, Sum, "Wake-ups that a sleeping shard received.";
    Turns = "ringmain_turns_total", Count, Sum, "Turns of the shard loop.";
    TurnOverThreshold = "ringmain_turns_over_threshold_total", Count, Sum, "Turns that took longer than the warning threshold.";

    Dials = "ringmain_dials_total", Count, Sum, "Connections dialed.";
    DialFailures = "ringmain_dial_failures_total", Count, Sum, "Dials that did not lead to a usable link.";
    InstancesInhibited = "ringmain_instances_inhibited_total", Count, Sum, "Times an instance was set aside on local evidence.";

    SnapshotsPublished = "ringmain_snapshots_published_total", Count, Sum, "Endpoint snapshots published to readers.";
    RegistryRecordsSkippedMalformed = "ringmain_registry_records_skipped_total" [code = "malformed"], Count, Sum, "Registry records left out of snapshots, by reason.";
    RegistryRecordsSkippedTooLarge = "ringmain_registry_records_skipped_total" [code = "too_large"], Count, Sum, "Registry records left out of snapshots, by reason.";
    RegistryRecordsSkippedForeign = "ringmain_registry_records_skipped_total" [code = "foreign"], Count, Sum, "Registry records left out of snapshots, by reason.";
    RegistryRecordsSkippedOverLimit = "ringmain_registry_records_skipped_total" [code = "over_limit"], Count, Sum, "Registry records left out of snapshots, by reason.";
    RegistryRecordsExpired = "ringmain_registry_records_expired_total", Count, Sum, "Registry records whose owner stopped renewing them.";
    RegistryErrors = "ringmain_registry_errors_total", Count, Sum, "Registry operations that failed and will be tried again.";
}

metrics! {
    /// Everything that has a level.
    Gauge, Gauge;

    LinksOpen = "ringmain_links_open", Count, Sum, "Links open now.";
    StreamsOpen = "ringmain_streams_open", Count, Sum, "Streams open now.";
    HandlersRunning = "ringmain_handlers_running", Count, Sum, "Handlers that have not ended yet.";
    RequestsQueued = "ringmain_requests_queued", Count, Sum, "Requests admitted and waiting for a handler.";
    ReceiveBuffersHeld = "ringmain_receive_buffers_held", Count, Sum, "Receive buffers pinned by consumers.";
    InboxBytes = "ringmain_inbox_bytes", Bytes, Sum, "Bytes received and not yet taken by consumers.";
    ReassemblyBytes = "ringmain_reassembly_bytes", Bytes, Sum, "Bytes reserved for messages that are still arriving.";
    TurnUsMax = "ringmain_turn_max_seconds", Micros, Max, "Longest turn of a shard since it started.";
    SnapshotsStale = "ringmain_snapshots_stale", Count, Sum, "Watched endpoints whose snapshot is older than the registry, because the registry cannot be read.";
    RegistrationsLost = "ringmain_registrations_lost", Count, Sum, "Registrations that could not be renewed at the last attempt.";
}
