//! How the inline home gets its transports.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use ringmain_discovery::TransportAddr;
use ringmain_reactor::SocketOptions;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, UnixStream};

/// The two halves of a connected transport.
pub type Transport = (
    Box<dyn AsyncRead + Send + Unpin>,
    Box<dyn AsyncWrite + Send + Unpin>,
);

/// What [`Connect::connect`] returns.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Transport>> + Send>>;

/// Connects to an address. The client's own dials TCP and Unix sockets; tests bring pipes.
pub trait Connect: Send + Sync + 'static {
    /// Starts to connect; dropping the future gives it up.
    fn connect(&self, address: &TransportAddr) -> Connecting;
}

/// TCP and Unix sockets of this host.
#[derive(Debug)]
pub(crate) struct Sockets(pub(crate) SocketOptions);

impl Connect for Sockets {
    fn connect(&self, address: &TransportAddr) -> Connecting {
        let (address, options) = (address.clone(), self.0.clone());
        Box::pin(async move {
            match address {
                TransportAddr::Unix(path) => {
                    let (reader, writer) = UnixStream::connect(path).await?.into_split();
                    Ok((Box::new(reader) as _, Box::new(writer) as _))
                }
                TransportAddr::Tcp(address) => tcp(address, &options).await,
                TransportAddr::Host { name, port } => {
                    let mut last = io::Error::from(io::ErrorKind::NotFound);
                    for address in tokio::net::lookup_host((&*name, port)).await? {
                        match tcp(address, &options).await {
                            Ok(transport) => return Ok(transport),
                            Err(error) => last = error,
                        }
                    }
                    Err(last)
                }
            }
        })
    }
}

async fn tcp(address: SocketAddr, options: &SocketOptions) -> io::Result<Transport> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    if let Some(bytes) = options.recv_buffer_bytes {
        socket.set_recv_buffer_size(size(bytes))?;
    }
    if let Some(bytes) = options.send_buffer_bytes {
        socket.set_send_buffer_size(size(bytes))?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(options.nodelay)?;
    let (reader, writer) = stream.into_split();
    Ok((Box::new(reader), Box::new(writer)))
}
