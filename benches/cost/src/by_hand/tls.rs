//! TLS of the loop by hand: rustls directly on a socket that blocks. A wake-up takes one `read` for all records that are there, and one
//! `write` for the record with the next requests.
//!
//! Spec: RFC 9289 4.1

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use plimsoll_testkit::servers::rpc_tls::AUTHORITY;
use plimsoll_wire::rpc::{StartTls, start_tls};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::{MARK, PATIENCE, one_message};

/// NFS version 3.
const PROGRAM: (u32, u32) = (100_003, 3);
/// The number of the call that asks for TLS.
const XID: u32 = 1;
/// Bytes taken from the socket at once: as many as without TLS.
const RECEIVED: usize = 1 << 20;

/// A connection with TLS.
pub struct TlsStream {
    socket: TcpStream,
    connection: ClientConnection,
    received: Vec<u8>,
}

impl TlsStream {
    /// Connects, asks the server for TLS, and makes the handshake.
    pub fn connect(to: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let mut socket = TcpStream::connect(to)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.write_all(&start_tls(XID, PROGRAM.0, PROGRAM.1))?;
        let answer = one_message(&mut socket)?;
        if StartTls::parse(answer.get(MARK..).unwrap_or_default(), XID) != Ok(StartTls::Yes) {
            return Err("the server has no TLS".into());
        }
        let name = ServerName::IpAddress(to.ip().into());
        let mut connection = ClientConnection::new(configuration()?, name)?;
        connection.set_buffer_limit(None);
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Self { socket, connection, received: vec![0; RECEIVED] })
    }
}

/// TLS 1.3 with the test server's authority, and the ciphers that Plimsoll offers.
fn configuration() -> Result<Arc<ClientConfig>, Box<dyn Error>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY.as_bytes())?)?;
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13])?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"sunrpc".to_vec()];
    Ok(Arc::new(config))
}

impl Read for TlsStream {
    /// Reads the socket once. It reads again, and waits, only if the first read brought no data.
    fn read(&mut self, plain: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.socket.read(&mut self.received)?;
            if count == 0 {
                return Ok(0);
            }
            let (mut records, mut have) = (self.received.get(..count).unwrap_or_default(), 0);
            while !records.is_empty() {
                self.connection.read_tls(&mut records)?;
                let state = self.connection.process_new_packets().map_err(io::Error::other)?;
                let count = state.plaintext_bytes_to_read();
                let room = plain.get_mut(have..have + count).ok_or_else(|| io::Error::other("no room for data"))?;
                self.connection.reader().read_exact(room)?;
                have += count;
            }
            if have > 0 {
                return Ok(have);
            }
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        let count = self.connection.writer().write(plain)?;
        self.flush()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.socket)?;
        }
        Ok(())
    }
}
