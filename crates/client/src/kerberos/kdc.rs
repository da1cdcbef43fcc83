//! Connection to the KDC: TCP, with limits on time and size.
//!
//! Spec: RFC 4120 7.2.2

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use sspi::generator::NetworkRequest;
use sspi::network_client::{NetworkClient, NetworkProtocol};

/// The port of a KDC that names none (RFC 4120 7.2.1).
const PORT: u16 = 88;
/// Time limit for connecting and for a response.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer, bytes: Windows limits a token, with all of a user's groups, to 64 KiB (MaxTokenSize).
const LONGEST: u32 = 1 << 20;

/// Sends the requests of `sspi`.
#[derive(Debug)]
pub(crate) struct Network;

impl NetworkClient for Network {
    fn send(&self, request: &NetworkRequest) -> sspi::Result<Vec<u8>> {
        let whom = format!("{}:{}", request.url.host_str().unwrap_or_default(), request.url.port().unwrap_or(PORT));
        let failed = |error: io::Error| {
            sspi::Error::new(sspi::ErrorKind::NoAuthenticatingAuthority, format!("KDC {whom}: {error}"))
        };
        if request.protocol != NetworkProtocol::Tcp {
            let problem = "Plimsoll sends requests to a KDC only over TCP, not over UDP or HTTP";
            return Err(failed(io::Error::new(io::ErrorKind::Unsupported, problem)));
        }
        let addresses = request.url.socket_addrs(|| Some(PORT)).map_err(failed)?;
        exchange(&addresses, &request.data).map_err(failed)
    }
}

/// Sends a message, and returns the response. Both begin with their length.
fn exchange(addresses: &[SocketAddr], message: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = connect(addresses)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(message)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let announced = u32::from_be_bytes(length);
    if announced > LONGEST {
        let problem = format!("the response announces a length of {announced} bytes; the limit is {LONGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    let mut answer = length.to_vec();
    let read = stream.take(u64::from(announced)).read_to_end(&mut answer)?;
    if read as u64 == u64::from(announced) { Ok(answer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// To the first of the addresses that answers.
fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for address in addresses {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}
