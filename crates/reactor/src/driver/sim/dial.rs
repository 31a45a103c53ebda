//! How simulated connections begin.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use super::node::{Seat, Socket};
use super::wire::{End, Side, Wire};
use super::world::{Listening, What, World};
use crate::address::Address;
use crate::config::ListenOptions;
use crate::event::{Event, ListenerId, SocketId};

/// The first port given to a listener that asks for any, and to dialers.
const FIRST_PORT: u16 = 20_000;

impl World {
    pub(super) fn listen(
        &mut self,
        node: usize,
        address: &Address,
        options: &ListenOptions,
    ) -> io::Result<(ListenerId, Address)> {
        let actual = match address {
            Address::Ip(addr) if addr.port() == 0 => {
                let port = self.next_port();
                Address::Ip(SocketAddr::new(addr.ip(), port))
            }
            other => other.clone(),
        };
        let there = self.listeners.entry(actual.clone()).or_default();
        if there
            .iter()
            .any(|other| !(other.reuse_port && options.reuse_port))
        {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let (index, generation) = self.nodes[node].seat(Seat::Listener(actual.clone()));
        let listener = ListenerId::new(index, generation);
        there.push(Listening {
            node,
            listener,
            reuse_port: options.reuse_port,
        });
        Ok((listener, actual))
    }

    pub(super) fn unlisten(&mut self, node: usize, listener: ListenerId) {
        let seats = &mut self.nodes[node].seats;
        let (index, generation) = (listener.index(), listener.generation());
        if !matches!(seats.at(index, generation), Some(Seat::Listener(_))) {
            return;
        }
        let Some(Seat::Listener(address)) = seats.remove(index, generation) else {
            return;
        };
        if let Some(there) = self.listeners.get_mut(&address) {
            there.retain(|other| (other.node, other.listener) != (node, listener));
            if there.is_empty() {
                self.listeners.remove(&address);
            }
        }
    }

    pub(super) fn connect(&mut self, node: usize, address: &Address) -> SocketId {
        let wire = self.next_serial();
        let socket = self.seat_socket(node, Socket::new(wire, Side::Dialer, true));
        self.wires.insert(wire, Wire::new(node, socket, self.now()));
        let at = self.now() + self.delay();
        self.schedule(
            at,
            What::Knock {
                wire,
                address: address.clone(),
            },
        );
        socket
    }

    pub(super) fn adopt(&mut self, node: usize, fd: &OwnedFd) -> io::Result<SocketId> {
        let wire_id = self.tokens.redeem(fd)?;
        let socket = self.seat_socket(node, Socket::new(wire_id, Side::Acceptor, false));
        if let Some(wire) = self.wires.get_mut(&wire_id) {
            wire.set_end(Side::Acceptor, End::Open { node, socket });
        }
        self.note_readable(wire_id, Side::Acceptor);
        Ok(socket)
    }

    /// Who gets a connection to an address: a listener exactly there, or one at its port on all
    /// addresses.
    pub(super) fn find_listener(&self, address: &Address) -> Option<&Listening> {
        let everywhere = match address {
            Address::Ip(addr) => {
                let any = match addr {
                    SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                    SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
                };
                Some(Address::Ip(SocketAddr::new(any, addr.port())))
            }
            Address::Unix(_) => None,
        };
        let there = self
            .listeners
            .get(address)
            .or_else(|| everywhere.and_then(|address| self.listeners.get(&address)))?;
        // Connections to a shared port are spread by a number that each of them moves.
        there.get(self.serial as usize % there.len())
    }

    pub(super) fn knock(&mut self, wire_id: u64, address: Address) {
        self.forget_if_over(wire_id);
        if !self.wires.contains_key(&wire_id) {
            return;
        }
        let refused = self.rng.chance(self.config.refuse_ppm);
        let target = self
            .find_listener(&address)
            .map(|there| (there.node, there.listener));
        let at = self.now() + self.delay();
        let (false, Some((node, listener))) = (refused, target) else {
            self.schedule(
                at,
                What::Answer {
                    wire: wire_id,
                    accepted: false,
                },
            );
            return;
        };
        let order = self.next_serial();
        match self.accept(node, wire_id, order) {
            Ok(fd) => {
                if let Some(wire) = self.wires.get_mut(&wire_id) {
                    wire.set_end(Side::Acceptor, End::Unclaimed { node });
                }
                self.schedule(
                    at,
                    What::Answer {
                        wire: wire_id,
                        accepted: true,
                    },
                );
                let peer = SocketAddr::from(([10, 0, 0, 1], port_of(wire_id)));
                let peer = Some(Address::Ip(peer));
                self.tell(node, Event::Accepted { listener, fd, peer });
            }
            Err(error) => {
                let again = self.now() + self.config.driver.accept_backoff;
                self.schedule(
                    again,
                    What::Knock {
                        wire: wire_id,
                        address,
                    },
                );
                self.tell(node, Event::AcceptFailed { listener, error });
            }
        }
    }

    pub(super) fn answer(&mut self, wire_id: u64, accepted: bool) {
        let Some((node, socket)) = self.connecting(wire_id) else {
            self.forget_if_over(wire_id);
            return;
        };
        if !accepted {
            self.fail_dial(wire_id, io::ErrorKind::ConnectionRefused);
            return;
        }
        if let Some(slot) = self.nodes[node].socket(socket) {
            slot.connecting = false;
        }
        self.tell(node, Event::Connected { socket });
        self.pump(wire_id, Side::Dialer);
        self.note_readable(wire_id, Side::Dialer);
    }

    pub(super) fn expire(&mut self, wire_id: u64) {
        if self.connecting(wire_id).is_some() {
            self.fail_dial(wire_id, io::ErrorKind::TimedOut);
        }
        self.forget_if_over(wire_id);
    }

    fn accept(&mut self, node: usize, wire: u64, order: u64) -> io::Result<OwnedFd> {
        let by_command = self.nodes[node].accept_failures > 0;
        if by_command {
            self.nodes[node].accept_failures -= 1;
        }
        if by_command || self.rng.chance(self.config.accept_fail_ppm) {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        self.tokens.issue(wire, order)
    }

    fn fail_dial(&mut self, wire_id: u64, kind: io::ErrorKind) {
        let Some((node, socket)) = self.connecting(wire_id) else {
            return;
        };
        let outgoing = self
            .wires
            .get_mut(&wire_id)
            .and_then(|wire| wire.from(Side::Dialer).outgoing.take());
        self.nodes[node].retire(socket);
        if let Some(outgoing) = outgoing {
            let event = Event::Sent {
                socket,
                buf: outgoing.buf,
                result: Err(kind.into()),
            };
            self.tell(node, event);
        }
        self.tell(
            node,
            Event::ConnectFailed {
                socket,
                error: kind.into(),
            },
        );
        self.leave(wire_id, Side::Dialer);
        self.forget_if_over(wire_id);
    }

    fn forget_if_over(&mut self, wire: u64) {
        if self.wires.get(&wire).is_some_and(Wire::is_over) {
            self.wires.remove(&wire);
        }
    }

    /// The dialer's socket of a wire that has had no answer.
    fn connecting(&mut self, wire: u64) -> Option<(usize, SocketId)> {
        let End::Open { node, socket } = self.wires.get(&wire)?.end(Side::Dialer) else {
            return None;
        };
        self.nodes[node]
            .socket(socket)?
            .connecting
            .then_some((node, socket))
    }

    fn seat_socket(&mut self, node: usize, socket: Socket) -> SocketId {
        let node = &mut self.nodes[node];
        node.sockets += 1;
        let (index, generation) = node.seat(Seat::Socket(socket));
        SocketId::new(index, generation)
    }

    fn next_port(&mut self) -> u16 {
        port_of(self.next_serial())
    }
}

fn port_of(serial: u64) -> u16 {
    FIRST_PORT + (serial % 40_000) as u16
}
