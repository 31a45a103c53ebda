//! From the address a listener is bound to, the address that peers are told.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{HostNetwork, TransportAddr, address::is_host_name};

/// How far the readers of a registry may be from this host.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Scope {
    /// Readers are usually on this host: loopback addresses and socket paths are fine.
    Local,
    /// Readers are on other hosts.
    Remote,
}

/// Chooses the address to register for a listener.
///
/// `bound` is the listener's actual address (its port is known). `choice` is what the operator
/// wrote: an IP address, a host name, either with a port, or the name of an interface. Without it,
/// a concrete bound address stands for itself and a wildcard becomes the source address of the
/// default route (IPv4 first if the listener takes both), or loopback where the scope allows it. An
/// explicit loopback address is taken as forced. The result is never a wildcard.
///
/// # Errors
/// Says what could not be advertised and what to pass instead.
pub fn advertise(
    bound: &TransportAddr,
    choice: Option<&str>,
    scope: Scope,
    network: &HostNetwork,
) -> Result<TransportAddr, AdvertiseError> {
    let not_bound = || AdvertiseError::NotBound {
        bound: bound.clone(),
    };
    let socket = match bound {
        TransportAddr::Tcp(socket) if socket.port() == 0 => return Err(not_bound()),
        TransportAddr::Tcp(socket) => *socket,
        TransportAddr::Unix(_) if scope == Scope::Remote => {
            return Err(AdvertiseError::OtherHosts {
                bound: bound.clone(),
            });
        }
        TransportAddr::Host { .. } | TransportAddr::Unix(_) if !bound.is_dialable() => {
            return Err(not_bound());
        }
        TransportAddr::Host { .. } | TransportAddr::Unix(_) => return Ok(bound.clone()),
    };
    if let Some(choice) = choice {
        let chosen = chosen(choice, socket, network)?;
        if !chosen.is_dialable() {
            return Err(AdvertiseError::Unroutable {
                choice: choice.to_owned(),
            });
        }
        return Ok(chosen);
    }
    if bound.is_wildcard() {
        let none = || AdvertiseError::NoRoute {
            bound: bound.clone(),
        };
        return routed(socket, scope, network).ok_or_else(none);
    }
    if scope == Scope::Remote && bound.is_host_local() {
        return Err(AdvertiseError::OtherHosts {
            bound: bound.clone(),
        });
    }
    Ok(bound.clone())
}

/// Reads the operator's choice. Interfaces come before host names, addresses before both.
fn chosen(
    choice: &str,
    bound: SocketAddr,
    network: &HostNetwork,
) -> Result<TransportAddr, AdvertiseError> {
    let bare = choice
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(choice);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, bound.port()).into());
    }
    if let Some(addresses) = network.interface(choice) {
        let ip = preferred(bound, addresses);
        let ip = ip.ok_or_else(|| AdvertiseError::NoAddress {
            interface: choice.to_owned(),
        })?;
        return Ok(SocketAddr::new(ip, bound.port()).into());
    }
    match choice.parse() {
        Ok(address @ (TransportAddr::Tcp(_) | TransportAddr::Host { .. })) => Ok(address),
        // One plain word is more often a mistyped interface than a host.
        Err(_) if choice.contains('.') && is_host_name(choice) => Ok(TransportAddr::Host {
            name: choice.into(),
            port: bound.port(),
        }),
        Ok(TransportAddr::Unix(_)) | Err(_) => {
            let names: Vec<_> = network
                .interfaces
                .iter()
                .map(|known| known.name.as_str())
                .collect();
            Err(AdvertiseError::UnknownChoice {
                choice: choice.to_owned(),
                known: names.join(", "),
            })
        }
    }
}

/// The address of the default route that the listener answers on, else loopback where that is
/// allowed.
fn routed(bound: SocketAddr, scope: Scope, network: &HostNetwork) -> Option<TransportAddr> {
    let routes: Vec<_> = [network.route_v4, network.route_v6]
        .into_iter()
        .flatten()
        .collect();
    let loopback = || {
        let v4 = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let own = if bound.is_ipv4() {
            v4
        } else {
            IpAddr::V6(Ipv6Addr::LOCALHOST)
        };
        (scope == Scope::Local).then_some(own)
    };
    let ip = preferred(bound, &routes).or_else(loopback)?;
    Some(SocketAddr::new(ip, bound.port()).into())
}

/// Picks an address of the family that the listener takes; an IPv6 wildcard takes both. Link-local
/// addresses are left out: they mean nothing without the interface they belong to.
fn preferred(bound: SocketAddr, addresses: &[IpAddr]) -> Option<IpAddr> {
    let dual = bound.ip().is_unspecified() && bound.is_ipv6();
    let is_v4 = |ip: &&IpAddr| ip.is_ipv4() && (bound.is_ipv4() || dual);
    let is_v6 = |ip: &&IpAddr| match ip {
        IpAddr::V6(ip) => bound.is_ipv6() && !ip.is_unicast_link_local(),
        IpAddr::V4(_) => false,
    };
    addresses
        .iter()
        .find(is_v4)
        .or_else(|| addresses.iter().find(is_v6))
        .copied()
}

/// Why no address can be advertised.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AdvertiseError {
    /// The listener's address has no port or path that could be told to anybody.
    #[error("`{bound}` is not the address of a bound listener")]
    NotBound {
        /// The address given.
        bound: TransportAddr,
    },
    /// Loopback or a socket path, and readers on other hosts.
    #[error("other hosts cannot reach `{bound}`: listen on another address or pass --advertise")]
    OtherHosts {
        /// The listener's address.
        bound: TransportAddr,
    },
    /// A wildcard and no default route.
    #[error(
        "`{bound}` stands for all addresses and this host has no default route: pass --advertise ADDR or IFACE"
    )]
    NoRoute {
        /// The listener's address.
        bound: TransportAddr,
    },
    /// The choice itself cannot be dialed.
    #[error("--advertise {choice} names nothing that a peer could dial")]
    Unroutable {
        /// The choice.
        choice: String,
    },
    /// The interface has no address of the listener's family.
    #[error("interface {interface} has no address that the listener answers on")]
    NoAddress {
        /// The interface.
        interface: String,
    },
    /// Neither an address nor an interface nor a host name.
    #[error(
        "--advertise {choice} is neither an address nor an interface (there are: {known}); a plain host name needs a port, as in {choice}:7000"
    )]
    UnknownChoice {
        /// The choice.
        choice: String,
        /// Names of the interfaces.
        known: String,
    },
}

#[cfg(test)]
mod tests;
