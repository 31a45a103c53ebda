//! How bytes move along simulated connections, and how these end.

use std::io;
use std::time::Instant;

use super::wire::{End, Ending, Item, Outgoing, Side, Wire};
use super::world::{What, World};
use crate::event::{Event, SocketId};

/// What one receive found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Bytes(usize),
    Ended(Ending),
    Nothing,
}

impl World {
    pub(super) fn send(&mut self, node: usize, id: SocketId, buf: Vec<u8>) {
        let Some(socket) = self.nodes[node].socket(id) else {
            return;
        };
        assert!(!socket.sending, "a send of {id:?} is in flight already");
        socket.sending = true;
        let (wire_id, side) = (socket.wire, socket.side);
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return;
        };
        wire.from(side).outgoing = Some(Outgoing { buf, taken: 0 });
        self.pump(wire_id, side);
    }

    pub(super) fn close(&mut self, node: usize, id: SocketId) {
        let Some(socket) = self.nodes[node].retire(id) else {
            return;
        };
        let buf = self.leave(socket.wire, socket.side);
        self.tell(node, Event::Closed { socket: id, buf });
    }

    /// Lets the kernel take what it has room for.
    pub(super) fn pump(&mut self, wire_id: u64, side: Side) {
        loop {
            let Some(wire) = self.wires.get_mut(&wire_id) else {
                return;
            };
            let End::Open { node, socket } = wire.end(side) else {
                return;
            };
            if self.nodes[node]
                .socket(socket)
                .is_none_or(|socket| socket.connecting)
            {
                return;
            }
            let pipe = wire.from(side);
            let Some(outgoing) = &pipe.outgoing else {
                return;
            };
            let rest = outgoing.buf.len() - outgoing.taken;
            if pipe.broken {
                self.finish_send(wire_id, side, Err(io::ErrorKind::BrokenPipe.into()));
                return;
            }
            if rest == 0 {
                self.finish_send(wire_id, side, Ok(()));
                return;
            }
            let room = self.config.pipe_bytes_max.saturating_sub(pipe.used);
            if room == 0 || pipe.stalled || pipe.reset_sent {
                return;
            }
            let len = rest.min(room).min(self.config.segment_bytes_max.max(1));
            if !self.emit(wire_id, side, len) {
                return;
            }
        }
    }

    /// Puts a segment on its way; false = the send pauses.
    fn emit(&mut self, wire_id: u64, side: Side, len: usize) -> bool {
        if self.rng.chance(self.config.reset_ppm) {
            self.reset(wire_id);
            return false;
        }
        let drops = self.rng.chance(self.config.drop_ppm);
        let stalls = self.rng.chance(self.config.stall_ppm);
        let len = self.cut(len);
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return false;
        };
        wire.silent |= drops;
        let pipe = wire.from(side);
        let Some(outgoing) = &mut pipe.outgoing else {
            return false;
        };
        let bytes = outgoing.buf[outgoing.taken..outgoing.taken + len].to_vec();
        outgoing.taken += len;
        pipe.used += len;
        pipe.stalled = stalls;
        self.put(wire_id, side, Item::Bytes(bytes));
        if stalls {
            let at = self.now() + self.delay();
            let of_dialer = side == Side::Dialer;
            self.schedule(
                at,
                What::Resume {
                    wire: wire_id,
                    of_dialer,
                },
            );
        }
        !stalls
    }

    /// A random part of a length, or all of it.
    pub(super) fn cut(&mut self, len: usize) -> usize {
        if len > 1 && self.rng.chance(self.config.split_ppm) {
            self.rng.between(1, len as u64) as usize
        } else {
            len
        }
    }

    fn put(&mut self, wire_id: u64, from: Side, item: Item) {
        let at = self.now() + self.delay();
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return;
        };
        let pipe = wire.from(from);
        let at: Instant = at.max(pipe.last_due);
        pipe.last_due = at;
        pipe.transit.push_back(item);
        self.schedule(
            at,
            What::Arrive {
                wire: wire_id,
                at_dialer: from == Side::Acceptor,
            },
        );
    }

    /// The next item reaches `side`.
    pub(super) fn arrive(&mut self, wire_id: u64, side: Side) {
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return;
        };
        let is_gone = wire.end(side) == End::Gone;
        let pipe = wire.to(side);
        // A reset overtakes what it destroys, so an arrival may find nothing.
        let Some(item) = pipe.transit.pop_front() else {
            return;
        };
        match item {
            Item::Bytes(bytes) if is_gone => {
                pipe.used -= bytes.len();
                self.send_reset(wire_id, side);
                return;
            }
            Item::Bytes(bytes) => pipe.arrived.extend(bytes),
            Item::Fin => pipe.ending = pipe.ending.or(Some(Ending::Fin)),
            Item::Reset => {
                pipe.ending = pipe.ending.or(Some(Ending::Reset));
                wire.from(side).broken = true;
                let reset = io::ErrorKind::ConnectionReset;
                self.finish_send(wire_id, side, Err(reset.into()));
            }
        }
        self.note_readable(wire_id, side);
    }

    /// Takes what a socket can receive into `space`.
    pub(super) fn read(&mut self, wire_id: u64, side: Side, space: &mut [u8]) -> Read {
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return Read::Nothing;
        };
        let available = wire.to(side).arrived.len().min(space.len());
        let len = self.cut(available);
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return Read::Nothing;
        };
        let pipe = wire.to(side);
        if len == 0 {
            return pipe.ending.map_or(Read::Nothing, Read::Ended);
        }
        for (to, from) in space.iter_mut().zip(pipe.arrived.drain(..len)) {
            *to = from;
        }
        pipe.used -= len;
        self.pump(wire_id, side.other());
        Read::Bytes(len)
    }

    /// One end closes: what it has sent still arrives, what it was sent is refused. Returns the
    /// buffer of a send that this cuts off.
    pub(super) fn leave(&mut self, wire_id: u64, side: Side) -> Option<Vec<u8>> {
        let wire = self.wires.get_mut(&wire_id)?;
        let is_absent = wire.end(side.other()) == End::Absent;
        wire.set_end(side, End::Gone);
        let cut_off = wire.from(side).outgoing.take().map(|outgoing| outgoing.buf);
        if wire.is_over() {
            // A dial that has not come in yet finds out by itself.
            if !is_absent {
                self.wires.remove(&wire_id);
            }
            return cut_off;
        }
        let incoming = wire.to(side);
        let refuses = incoming.discard_arrived() || incoming.outgoing.is_some();
        self.put(wire_id, side, Item::Fin);
        if refuses {
            self.send_reset(wire_id, side);
        }
        cut_off
    }

    /// Breaks a connection for both ends; what is on its way is lost.
    pub(super) fn reset(&mut self, wire_id: u64) {
        for side in [Side::Dialer, Side::Acceptor] {
            let Some(wire) = self.wires.get_mut(&wire_id) else {
                return;
            };
            wire.from(side).lose_transit();
            self.send_reset(wire_id, side);
        }
    }

    /// Accepted connections that nobody wanted are closed, as the kernel does.
    pub(super) fn sweep_dropped(&mut self) {
        for wire in self.tokens.take_dropped() {
            self.leave(wire, Side::Acceptor);
        }
    }

    /// Puts a socket in its reactor's queue of those with something to receive.
    pub(super) fn note_readable(&mut self, wire_id: u64, side: Side) {
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return;
        };
        let End::Open { node, socket: id } = wire.end(side) else {
            return;
        };
        let is_readable = wire.to(side).is_readable();
        let node = &mut self.nodes[node];
        let Some(socket) = node.socket(id) else {
            return;
        };
        if is_readable
            && socket.receiving
            && !socket.connecting
            && !socket.paused
            && !std::mem::replace(&mut socket.queued, true)
        {
            node.readable.push_back(id);
        }
    }

    pub(super) fn wires_between(&self, a: &str, b: &str) -> Vec<u64> {
        let between = |wire: &Wire| {
            let [Some(x), Some(y)] = wire
                .hosts
                .map(|node| node.map(|node| &self.nodes[node].host))
            else {
                return false;
            };
            (&**x, &**y) == (a, b) || (&**x, &**y) == (b, a)
        };
        self.wires
            .iter()
            .filter(|(_, wire)| between(wire))
            .map(|(&id, _)| id)
            .collect()
    }

    fn send_reset(&mut self, wire_id: u64, from: Side) {
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return;
        };
        if !std::mem::replace(&mut wire.from(from).reset_sent, true) {
            self.put(wire_id, from, Item::Reset);
        }
    }

    fn finish_send(&mut self, wire_id: u64, side: Side, result: io::Result<()>) {
        let Some(wire) = self.wires.get_mut(&wire_id) else {
            return;
        };
        let End::Open { node, socket } = wire.end(side) else {
            return;
        };
        let Some(outgoing) = wire.from(side).outgoing.take() else {
            return;
        };
        self.tell(
            node,
            Event::Sent {
                socket,
                buf: outgoing.buf,
                result,
            },
        );
    }
}
