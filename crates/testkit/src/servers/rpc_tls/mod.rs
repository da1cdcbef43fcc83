//! RPC over TLS in front of any RPC server over TCP: answers the question whether there is TLS, ends the TLS, and passes calls and replies
//! on. A connection that does not begin with the question is closed, so whoever is served has used TLS.
//!
//! The certificate is for `localhost` and 127.0.0.1, until 2120, by an authority that signed nothing else and whose key is thrown away. The
//! key of the certificate is no secret.
//!
//! Spec: RFC 9289 4.1

mod pump;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificate of the authority, in PEM.
pub const AUTHORITY: &str = include_str!("ca.pem");
const CERTIFICATE: &str = include_str!("server.pem");
const KEY: &str = include_str!("server.key");
/// How often a thread looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(5);
/// The question: record mark, header, AUTH_TLS, AUTH_NONE.
const QUESTION: usize = 44;
const AUTH_TLS: u32 = 7;

/// What the server does with the question and the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Serves.
    Serves,
    /// Sends the end of TLS (close_notify) together with the first data of the server, and leaves the connection open.
    Notifies,
    /// Answers the question as a NULL call without TLS.
    Unaware,
    /// Rejects the question: AUTH_BADCRED.
    Rejects,
    /// Never answers the question.
    Silent,
    /// Says yes, and never answers in the handshake.
    Stalls,
    /// Says yes, and ends the connection in the handshake.
    Ends,
    /// Says yes, and sends bytes that are no TLS.
    Garbage,
}

/// The server, until it is dropped.
#[derive(Debug)]
pub struct RpcTls {
    address: SocketAddr,
    down: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl RpcTls {
    /// Listens on a free port of loopback, in front of this server.
    ///
    /// # Errors
    /// The system gives no port or thread.
    pub fn start(upstream: SocketAddr, manner: Manner) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let down = Arc::new(AtomicBool::new(false));
        let (stop, config) = (Arc::clone(&down), server_config());
        let accepting = std::thread::Builder::new().name("rpc-tls".to_owned());
        let accepting = accepting.spawn(move || {
            std::thread::scope(|scope| {
                while !stop.load(Ordering::Relaxed) {
                    let Ok((client, _)) = listener.accept() else {
                        std::thread::sleep(GLANCE);
                        continue;
                    };
                    let (config, stop) = (Arc::clone(&config), &stop);
                    // A connection that fails is closed; its client tells of it.
                    scope.spawn(move || drop(serve(client, upstream, manner, config, stop)));
                }
            });
        })?;
        Ok(Self { address, down, accepting: Some(accepting) })
    }

    /// Where to connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for RpcTls {
    fn drop(&mut self) {
        self.down.store(true, Ordering::Relaxed);
        if let Some(accepting) = self.accepting.take() {
            // It holds nothing that could be lost.
            let _ended = accepting.join();
        }
    }
}

/// A server of TLS 1.3 with the certificate, for `sunrpc` alone.
///
/// # Panics
/// The certificate cannot be read.
#[must_use]
pub fn server_config() -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).expect("it is a certificate");
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).expect("it is a key");
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).expect("the library has it");
    let config = builder.with_no_client_auth().with_single_cert(vec![certificate], key);
    let mut config = config.expect("they belong together");
    config.alpn_protocols = vec![b"sunrpc".to_vec()];
    Arc::new(config)
}

/// The answer to the question `xid`, with its record mark: the verifier says `verifier`.
#[must_use]
pub fn answer(xid: u32, verifier: &[u8]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let body = [words(&[xid, 1, 0, 0, verifier.len() as u32]), verifier.to_vec(), words(&[0])].concat();
    [words(&[0x8000_0000 | body.len() as u32]), body].concat()
}

/// One connection to its end.
fn serve(
    mut client: TcpStream,
    upstream: SocketAddr,
    manner: Manner,
    config: Arc<ServerConfig>,
    down: &AtomicBool,
) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_nodelay(true)?;
    client.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut question = [0; QUESTION];
    client.read_exact(&mut question)?;
    let word =
        |at: usize| question.get(at..at + 4).map_or(0, |word| word.iter().fold(0, |sum, b| sum << 8 | u32::from(*b)));
    let (xid, procedure, flavor) = (word(4), word(24), word(28));
    if (procedure, flavor) != (0, AUTH_TLS) {
        return Ok(());
    }
    match manner {
        Manner::Silent => return wait(down),
        Manner::Unaware => {
            client.write_all(&answer(xid, b""))?;
            return wait(down);
        }
        Manner::Rejects => {
            // xid, REPLY, MSG_DENIED, AUTH_ERROR, AUTH_BADCRED.
            let words = [0x8000_0014, xid, 1, 1, 1, 1];
            client.write_all(&words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect::<Vec<u8>>())?;
            return wait(down);
        }
        _ => client.write_all(&answer(xid, b"STARTTLS"))?,
    }
    match manner {
        Manner::Stalls => wait(down),
        Manner::Ends => client.read_exact(&mut [0; 5]),
        Manner::Garbage => {
            client.read_exact(&mut [0; 5])?;
            client.write_all(&[0x5A; 4096])?;
            wait(down)
        }
        _ => pump::run(client, TcpStream::connect(upstream)?, config, manner == Manner::Notifies, down),
    }
}

/// Keeps a connection open.
fn wait(down: &AtomicBool) -> io::Result<()> {
    while !down.load(Ordering::Relaxed) {
        std::thread::sleep(GLANCE);
    }
    Ok(())
}
