//! The handshake (spec 4.2).

use std::time::Instant;

use super::core::{Core, Sending};
use super::event::{ConnectionState, Event, PeerInfo};
use super::streams::credit::SendAccount;
use super::{ConnectionError, Role};
use crate::frame::{Hello, Welcome};
use crate::wire::{FrameKind, Header, LooksLike, Malformed, OutBuf, Preamble};
use crate::wire::{inspect_hello, inspect_reply};
use crate::{InstanceId, Limits, StreamId};

/// The protocol version spoken here.
pub const VERSION: u16 = 1;

impl<P: AsRef<[u8]>> Core<P> {
    /// How to look at the peer's first bytes, until they were looked at.
    pub(crate) fn preamble(&self) -> Option<fn(&[u8]) -> Preamble> {
        if self.state != ConnectionState::Handshaking {
            None
        } else if self.is_dialer() {
            Some(inspect_reply)
        } else {
            Some(inspect_hello)
        }
    }

    /// The frame that must come first, at an acceptor.
    pub(crate) fn on_hello(
        &mut self,
        now: Instant,
        header: Header,
        body: &[u8],
    ) -> Result<Event<'static>, ConnectionError> {
        let Role::Acceptor { instance } = self.config.role else {
            return Err(out_of_place(FrameKind::Hello));
        };
        if self.state != ConnectionState::Handshaking {
            return Err(out_of_place(FrameKind::Hello));
        }
        // Only the versions can be read before it is known that they fit.
        let (peer_min, peer_max) = match Hello::versions(body) {
            Ok(versions) => versions,
            Err(error) if error.reason == Malformed::Magic => {
                return Err(ConnectionError::NotRingmain(LooksLike::Unknown));
            }
            Err(error) => return Err(error.into()),
        };
        check_version(peer_min, peer_max)?;
        let hello = Hello::parse(header, body)?;
        // WELCOME goes out even to a dialer that looked for somebody else: it says who is here
        // (spec 4.5).
        self.greeting_due = true;
        // A bit that both ends did not set has no effect (spec 4.4).
        let features = hello.features & self.config.features;
        self.adopt(None, features, hello.limits, now);
        if let Some(expected) = InstanceId::new(hello.expected_instance)
            && expected != instance
        {
            return Err(ConnectionError::StaleInstance {
                expected,
                actual: instance,
            });
        }
        Ok(Event::Ready)
    }

    /// The frame that must come first, at a dialer.
    pub(crate) fn on_welcome(
        &mut self,
        now: Instant,
        header: Header,
        body: &[u8],
    ) -> Result<Event<'static>, ConnectionError> {
        let Role::Dialer { expected_instance } = self.config.role else {
            return Err(out_of_place(FrameKind::Welcome));
        };
        if self.state != ConnectionState::Handshaking || self.greeting_due {
            return Err(out_of_place(FrameKind::Welcome));
        }
        let welcome = Welcome::parse(header, body)?;
        check_version(welcome.version, welcome.version)?;
        if let Some(expected) = expected_instance
            && expected != welcome.instance
        {
            let actual = welcome.instance;
            return Err(ConnectionError::StaleInstance { expected, actual });
        }
        let features = welcome.features & self.config.features;
        self.adopt(Some(welcome.instance), features, welcome.limits, now);
        Ok(Event::Ready)
    }

    fn adopt(&mut self, instance: Option<InstanceId>, features: u64, limits: Limits, now: Instant) {
        self.peer = Some(PeerInfo {
            instance,
            version: VERSION,
            features,
            limits,
        });
        self.send = SendAccount::new(limits.connection_window);
        self.sending = Sending {
            message_bytes_max: limits.message_bytes_max,
            fragment_bytes_max: usize::from(limits.fragment_bytes_max),
            cost_max: limits.stream_window.min(limits.connection_window) / 2,
        };
        self.state = if self.farewell.sent {
            ConnectionState::Draining
        } else {
            ConnectionState::Ready
        };
        self.keepalive.heard(now);
    }

    /// HELLO or WELCOME; `false` if there is no room.
    pub(crate) fn write_greeting(&mut self, out: &mut OutBuf<'_>) -> bool {
        let (limits, features) = (self.config.limits, self.config.features);
        let written = match self.config.role {
            Role::Dialer { expected_instance } => Hello {
                version_min: VERSION,
                version_max: VERSION,
                expected_instance: expected_instance.map_or(0, InstanceId::value),
                features,
                limits,
            }
            .encode(out),
            Role::Acceptor { instance } => Welcome {
                version: VERSION,
                instance,
                features: self.peer.map_or(0, |peer| peer.features),
                limits,
            }
            .encode(out),
        };
        self.greeting_due = !self.put(written);
        !self.greeting_due
    }
}

fn check_version(peer_min: u16, peer_max: u16) -> Result<(), ConnectionError> {
    if peer_min <= VERSION && VERSION <= peer_max {
        return Ok(());
    }
    Err(ConnectionError::Version {
        ours: VERSION,
        peer_min,
        peer_max,
    })
}

fn out_of_place(kind: FrameKind) -> ConnectionError {
    ConnectionError::StreamState {
        stream: StreamId::CONNECTION,
        kind,
    }
}
