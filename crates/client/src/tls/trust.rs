//! Whom a client believes.

use std::path::{Path, PathBuf};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Where systems keep the authorities that they trust: Debian and Ubuntu, Red Hat, SUSE, Alpine.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Whom a client believes to be the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Holders of a certificate of this system's authorities for the host's name.
    #[default]
    System,
    /// Of an authority in this file of PEM certificates.
    File(PathBuf),
    /// Anyone.
    Anyone,
}

/// Why no authority can be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The host's name can be in no certificate.
    #[error("{0} is not a name or address that a certificate can contain; give a DNS name or IP address in the target")]
    Name(String),
    /// The file has no usable certificates.
    #[error("{}: {problem}", file.display())]
    File {
        /// Which one.
        file: PathBuf,
        /// Why not.
        problem: String,
    },
    /// This system's authorities were not found.
    #[error(
        "found no file with the certificate authorities of this system: give the server's certificate authority with --tls-ca FILE"
    )]
    NoSystem,
    /// The library refused.
    #[error("RPC over TLS: {0}")]
    Library(Error),
}

impl Trust {
    pub(super) fn authorities(&self) -> Result<RootCertStore, TrustError> {
        match self {
            Trust::File(file) => read(file),
            Trust::System => {
                let found = SYSTEM.iter().map(Path::new).find(|file| file.exists());
                read(found.ok_or(TrustError::NoSystem)?)
            }
            Trust::Anyone => Ok(RootCertStore::empty()),
        }
    }
}

fn read(file: &Path) -> Result<RootCertStore, TrustError> {
    let failed = |problem: String| TrustError::File { file: file.to_owned(), problem };
    let found = CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| failed(error.to_string()))?;
    let mut authorities = RootCertStore::empty();
    // Bundles of systems have certificates that are of no use here.
    let (usable, _) = authorities.add_parsable_certificates(found);
    if usable == 0 {
        return Err(failed("contains no certificate authority in PEM format (-----BEGIN CERTIFICATE-----)".to_owned()));
    }
    Ok(authorities)
}

/// Believes every certificate. Signatures are checked: the server has the key of the certificate that it shows.
#[derive(Debug)]
pub(super) struct Anyone {
    algorithms: WebPkiSupportedAlgorithms,
}

impl Anyone {
    pub(super) fn new(provider: &CryptoProvider) -> Self {
        Self { algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
