//! RPC over TLS: the question whether the server speaks it, the handshake, and calls and responses in TLS records.
//!
//! Spec: RFC 9289; RFC 8446 (TLS 1.3)
//!
//! | file | what it is |
//! | --- | --- |
//! | `trust.rs` | whom the client believes: authorities, or any server |
//! | `session.rs` | one connection: bytes in, bytes out, no socket and no clock |
//! | `stream.rs` | the same on a socket, for sequential calls |

mod session;
mod stream;
#[cfg(test)]
mod tests;
mod trust;

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;

pub use session::TlsSession;
pub use stream::Stream;
pub use trust::{Trust, TrustError};

/// The protocol in TLS, as ALPN has it (RFC 9289 8.1).
const ALPN: &[u8] = b"sunrpc";

/// How connections to one server use TLS.
#[derive(Debug)]
pub struct Tls {
    config: Arc<ClientConfig>,
    /// The name that the server's certificate must have.
    name: ServerName<'static>,
    /// The program and version that is asked whether there is TLS.
    program: (u32, u32),
    /// What the first connection agreed on, in words.
    agreed: OnceLock<String>,
}

impl Tls {
    /// TLS with the server `host` of a program's version.
    ///
    /// # Errors
    /// The authorities cannot be read, or the host's name can be in no certificate.
    pub fn new(host: &str, program: (u32, u32), trust: &Trust) -> Result<Self, TrustError> {
        // The zone of an IPv6 address says which interface of this machine leads to it, and is in no certificate.
        let host = host.split_once('%').map_or(host, |(address, _)| address);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TrustError::Name(host.to_owned()))?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        // RFC 9289 5: no version before 1.3.
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(TrustError::Library)?;
        let mut config = match trust {
            Trust::Anyone => {
                let anyone = Arc::new(trust::Anyone::new(&provider));
                builder.dangerous().with_custom_certificate_verifier(anyone).with_no_client_auth()
            }
            trust => builder.with_root_certificates(trust.authorities()?).with_no_client_auth(),
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        // Each connection makes a whole handshake: a resumed one would measure less than a mount does.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self { config: Arc::new(config), name, program, agreed: OnceLock::new() })
    }

    /// Whether both make the same connections. `trust` is common to all targets of a run.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.name, self.program) == (&other.name, other.program)
    }

    /// What connections agreed on so far, in words, such as `RPC over TLS 1.3, AES-256-GCM`.
    #[must_use]
    pub fn agreed(&self) -> Option<&str> {
        self.agreed.get().map(String::as_str)
    }

    /// The cipher of [`Self::agreed`].
    #[must_use]
    pub fn cipher(&self) -> Option<&str> {
        self.agreed().and_then(|words| words.rsplit_once(", ")).map(|(_, cipher)| cipher)
    }
}

/// The server does not offer the program in the version for which it was asked whether there is TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server does not offer this NFS version, according to its answer to the AUTH_TLS probe; give another version in the target"
)]
pub struct VersionNotOffered;

/// Authorities from a file of certificates in PEM; `None`: those of this system.
#[must_use]
pub fn authorities(file: Option<&Path>) -> Trust {
    file.map_or(Trust::System, |file| Trust::File(file.to_owned()))
}

/// An error of TLS on a connection.
fn broken(problem: impl std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("RPC over TLS: {problem}"))
}
