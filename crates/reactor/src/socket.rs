//! Making and naming sockets, shared by the drivers that have a kernel.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};

use crate::address::Address;
use crate::config::{ListenOptions, SocketOptions};

/// The kernel's form of an address.
pub(crate) fn to_sockaddr(address: &Address) -> io::Result<SockAddr> {
    match address {
        Address::Ip(addr) => Ok(SockAddr::from(*addr)),
        Address::Unix(path) => SockAddr::unix(path),
    }
}

/// Our form of the kernel's address; `None` for an unnamed peer.
pub(crate) fn from_sockaddr(addr: &SockAddr) -> Option<Address> {
    if let Some(ip) = addr.as_socket() {
        return Some(Address::Ip(ip));
    }
    addr.as_pathname()
        .map(|path| Address::Unix(path.to_owned()))
}

/// The address of the other end, where it has one.
pub(crate) fn peer_address(fd: &impl AsFd) -> Option<Address> {
    SockRef::from(fd)
        .peer_addr()
        .ok()
        .as_ref()
        .and_then(from_sockaddr)
}

/// A bound, listening, non-blocking socket and the address it really has.
pub(crate) fn listener(
    address: &Address,
    options: &ListenOptions,
) -> io::Result<(OwnedFd, Address)> {
    let socket = new_socket(address)?;
    if let Address::Ip(addr) = address {
        socket.set_reuse_address(true)?;
        if options.reuse_port {
            socket.set_reuse_port(true)?;
        }
        if addr.is_ipv6() && addr.ip().is_unspecified() {
            // One listener on `::` serves both families, whatever the host's default is.
            socket.set_only_v6(false)?;
        }
    }
    apply(&socket, &options.socket)?;
    if let Address::Unix(path) = address {
        unlink_if_stale(path)?;
    }
    socket.bind(&to_sockaddr(address)?)?;
    socket.listen(i32::try_from(options.backlog).unwrap_or(i32::MAX))?;
    let actual = from_sockaddr(&socket.local_addr()?).unwrap_or_else(|| address.clone());
    Ok((socket.into(), actual))
}

/// A non-blocking socket to dial `address` with.
pub(crate) fn dialer(address: &Address, options: &SocketOptions) -> io::Result<OwnedFd> {
    let socket = new_socket(address)?;
    apply(&socket, options)?;
    Ok(socket.into())
}

/// Makes a connected descriptor from elsewhere fit for a driver.
pub(crate) fn adopt(fd: &OwnedFd, options: &SocketOptions) -> io::Result<()> {
    let socket = SockRef::from(fd);
    socket.set_nonblocking(true)?;
    apply(&socket, options)
}

/// Whether a TCP socket has bytes that its peer has not acknowledged.
///
/// A Unix socket never has: what was sent is in the peer's queue.
pub(crate) fn has_unsent(fd: &OwnedFd) -> bool {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request stores one `c_int` during the call.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    result == 0
        && bytes > 0
        && SockRef::from(fd)
            .domain()
            .is_ok_and(|domain| domain != Domain::UNIX)
}

fn new_socket(address: &Address) -> io::Result<Socket> {
    let (domain, protocol) = match address {
        Address::Ip(addr) => (Domain::for_address(*addr), Some(Protocol::TCP)),
        Address::Unix(_) => (Domain::UNIX, None),
    };
    Socket::new(domain, Type::STREAM.nonblocking().cloexec(), protocol)
}

fn apply(socket: &Socket, options: &SocketOptions) -> io::Result<()> {
    if let Some(bytes) = options.recv_buffer_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    if let Some(bytes) = options.send_buffer_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    if options.nodelay && socket.domain()? != Domain::UNIX {
        socket.set_tcp_nodelay(true)?;
    }
    Ok(())
}

/// Removes the file of a Unix socket that nobody listens on any more.
///
/// A live listener keeps its file, so that a second process cannot take its place unseen; a file
/// that is no socket is never touched. Both make the bind fail.
fn unlink_if_stale(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if !is_socket {
        return Ok(());
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
    match probe.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
