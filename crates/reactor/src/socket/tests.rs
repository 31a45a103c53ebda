use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use socket2::SockRef;

use super::{adopt, dialer, listener, peer_address};
use crate::address::Address;
use crate::config::{ListenOptions, SocketOptions};

/// A path in the temporary directory that is removed when dropped.
struct TempPath(PathBuf);

impl TempPath {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ringmain-{}-{name}", std::process::id()));
        drop(std::fs::remove_file(&path));
        Self(path)
    }
}

impl Drop for TempPath {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

#[test]
fn a_listener_reports_its_real_port() {
    let (_fd, actual) =
        listener(&"127.0.0.1:0".parse().unwrap(), &ListenOptions::default()).unwrap();
    let Address::Ip(addr) = actual else {
        panic!("{actual}")
    };
    assert_ne!(addr.port(), 0);
}

#[test]
fn sockets_have_the_options_asked_for() {
    let options = SocketOptions {
        nodelay: true,
        recv_buffer_bytes: Some(8192),
        send_buffer_bytes: Some(16_384),
    };
    let dialed = dialer(&"127.0.0.1:1".parse().unwrap(), &options).unwrap();
    let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let adopted = OwnedFd::from(ours);
    adopt(&adopted, &options).unwrap();
    for fd in [&dialed, &adopted] {
        let socket = SockRef::from(fd);
        // The kernel doubles what is asked for.
        assert_eq!(socket.recv_buffer_size().unwrap(), 16_384);
        assert_eq!(socket.send_buffer_size().unwrap(), 32_768);
        assert!(socket.nonblocking().unwrap());
    }
    assert!(SockRef::from(&dialed).tcp_nodelay().unwrap());
    assert_eq!(peer_address(&adopted), None);
}

#[test]
fn a_stale_socket_file_is_replaced() {
    let path = TempPath::new("stale");
    drop(UnixListener::bind(&path.0).unwrap());
    assert!(path.0.exists());
    let address = Address::Unix(path.0.clone());
    let (_fd, actual) = listener(&address, &ListenOptions::default()).unwrap();
    assert_eq!(actual, address);
}

#[test]
fn a_live_listener_or_a_plain_file_is_not_replaced() {
    let path = TempPath::new("live");
    let address = Address::Unix(path.0.clone());
    let (first, _) = listener(&address, &ListenOptions::default()).unwrap();
    let second = listener(&address, &ListenOptions::default()).unwrap_err();
    assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    drop(first);

    std::fs::remove_file(&path.0).unwrap();
    std::fs::write(&path.0, "kept").unwrap();
    let error = listener(&address, &ListenOptions::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    assert_eq!(std::fs::read_to_string(&path.0).unwrap(), "kept");
}
