//! The addresses of this host.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;

use crate::{Error, ErrorKind};

/// Interfaces of this host and the source addresses of its default routes. Plain data, so that
/// choosing an address is tested without the network in question.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HostNetwork {
    /// Interfaces in the order of the kernel.
    pub interfaces: Vec<Interface>,
    /// Source address of the default IPv4 route, if there is one.
    pub route_v4: Option<IpAddr>,
    /// Source address of the default IPv6 route, if there is one.
    pub route_v6: Option<IpAddr>,
}

/// One network interface.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Interface {
    /// Its name, for example `eth0`.
    pub name: String,
    /// Its IP addresses.
    pub addresses: Vec<IpAddr>,
}

impl HostNetwork {
    /// Reads the interfaces and routes. Sends nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] when the system does not list its interfaces.
    pub fn read() -> Result<Self, Error> {
        let listed = getifaddrs().map_err(|errno| {
            Error::new(
                ErrorKind::Internal,
                "the network interfaces could not be listed",
            )
            .because(errno)
        })?;
        let mut interfaces: Vec<Interface> = Vec::new();
        for entry in listed {
            let place = interfaces
                .iter()
                .position(|known| known.name == entry.interface_name);
            let place = place.unwrap_or_else(|| {
                interfaces.push(Interface {
                    name: entry.interface_name,
                    addresses: Vec::new(),
                });
                interfaces.len() - 1
            });
            let Some(address) = entry.address else {
                continue;
            };
            let v4 = address
                .as_sockaddr_in()
                .map(|address| IpAddr::V4(address.ip()));
            let v6 = address
                .as_sockaddr_in6()
                .map(|address| IpAddr::V6(address.ip()));
            interfaces[place].addresses.extend(v4.or(v6));
        }
        // Addresses set aside for documentation: no host has them, so only a default route leads
        // there.
        Ok(Self {
            interfaces,
            route_v4: route_source("0.0.0.0:0", "192.0.2.1:9"),
            route_v6: route_source("[::]:0", "[2001:db8::1]:9"),
        })
    }

    /// The addresses of one interface, or `None` when there is no such interface.
    pub(crate) fn interface(&self, name: &str) -> Option<&[IpAddr]> {
        let found = self
            .interfaces
            .iter()
            .find(|interface| interface.name == name)?;
        Some(&found.addresses)
    }
}

/// Connecting a datagram socket makes the kernel choose a route and a source address; no packet
/// leaves.
fn route_source(bind: &str, target: &str) -> Option<IpAddr> {
    let socket = UdpSocket::bind(bind.parse::<SocketAddr>().ok()?).ok()?;
    socket.connect(target.parse::<SocketAddr>().ok()?).ok()?;
    let source = socket.local_addr().ok()?.ip();
    (!source.is_unspecified() && !source.is_loopback()).then_some(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_loopback_interface() {
        let network = HostNetwork::read().expect("interfaces");
        assert!(
            network
                .interfaces
                .iter()
                .any(|interface| interface.name == "lo"),
            "{network:?}"
        );
        assert_eq!(network.interface("no such"), None);
    }
}
