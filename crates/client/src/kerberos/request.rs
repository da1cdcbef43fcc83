//! From a password to a ticket: the conversation with the KDC, which is `sspi`'s.

use sspi::kerberos::config::{KdcResolution, KerberosConfig};
use sspi::{
    AuthIdentity, BufferType, ClientRequestFlags, CredentialUse, DataRepresentation, Kerberos, SecurityBuffer,
    Sspi as _, SspiImpl as _, Username,
};

use super::kdc::Network;
use super::{Realm, ServiceTicket, TicketError};
use crate::clock::Clock;
use crate::credentials::Credentials;
use crate::target::Server;

/// The client's workstation name. Tickets with only this address are valid from any host.
const WORKSTATION: &str = "PLIMSOLL";

/// The protocol that a ticket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// SMB, inside SPNEGO.
    Smb,
    /// NFS, inside RPCSEC_GSS.
    Rpc,
}

impl Purpose {
    /// Requested GSS-API features: mutual authentication, and a subkey to sign and encrypt with.
    fn wanted(self) -> ClientRequestFlags {
        let both = ClientRequestFlags::MUTUAL_AUTH | ClientRequestFlags::INTEGRITY;
        match self {
            Self::Smb => both | ClientRequestFlags::REPLAY_DETECT | ClientRequestFlags::SEQUENCE_DETECT,
            // RPCSEC_GSS has sequence numbers, and forbids those of GSS-API (RFC 2203 5.2.2).
            Self::Rpc => both | ClientRequestFlags::CONFIDENTIALITY,
        }
    }
}

impl ServiceTicket {
    /// Asks the realm's KDC for a ticket of an account for `service` (`cifs/server` or `nfs/server`). Blocks for as long as that takes: three
    /// questions, of 10 s each at most.
    ///
    /// # Errors
    /// There is none, and why.
    pub fn request(
        credentials: &Credentials,
        realm: &Realm,
        service: &str,
        purpose: Purpose,
    ) -> Result<Self, TicketError> {
        let (user, name) = principal(credentials, realm)?;
        let config = configuration(realm.kdc.as_ref())?;
        let refused = |error: sspi::Error| TicketError::Refused {
            service: service.to_owned(),
            realm: name.clone(),
            problem: reason(&error),
        };
        let username = Username::new_down_level_logon_name(&user, &name)
            .map_err(|error| refused(sspi::Error::new(sspi::ErrorKind::InvalidParameter, error.to_string())))?;
        let password = credentials.password.expose().to_owned().into();
        let identity = AuthIdentity { username, password };
        let mut kerberos = Kerberos::new_client_from_config(config).map_err(refused)?;
        let (token, now) = first_token(&mut kerberos, identity, service, purpose).map_err(refused)?;
        // Before the server's answer it is the ticket's own key.
        let keys = kerberos.query_context_session_key().map_err(refused)?;
        let shown = format!("{user}@{name} for {service}");
        Self::take(shown, &token, keys.session_key.as_ref(), now).ok_or_else(|| {
            refused(sspi::Error::new(
                sspi::ErrorKind::InvalidToken,
                "Plimsoll cannot use this ticket: expected one with AES encryption (aes128-cts or aes256-cts)"
                    .to_owned(),
            ))
        })
    }
}

/// Account and realm.
fn principal(credentials: &Credentials, realm: &Realm) -> Result<(String, String), TicketError> {
    if credentials.user.is_empty() || credentials.password.is_empty() {
        return Err(TicketError::NoAccount);
    }
    let (user, own) = match credentials.user.rsplit_once('@') {
        Some((user, realm)) => (user, realm),
        None => (credentials.user.as_str(), credentials.domain.as_str()),
    };
    let name = realm.name.as_deref().unwrap_or(own);
    if name.is_empty() {
        return Err(TicketError::NoRealm);
    }
    Ok((user.to_owned(), name.to_owned()))
}

fn configuration(kdc: Option<&Server>) -> Result<KerberosConfig, TicketError> {
    let Some(kdc) = kdc else {
        let (kdc_resolution, client_computer_name) = (KdcResolution::KdcUrl(None), WORKSTATION.to_owned());
        return Ok(KerberosConfig { kdc_resolution, client_computer_name });
    };
    let config = KerberosConfig::new_with_kdc_url(&format!("tcp://{kdc}"), WORKSTATION.to_owned());
    // `sspi` ignores an invalid KDC address and would look elsewhere.
    match config.kdc_resolution {
        KdcResolution::KdcUrl(Some(_)) => Ok(config),
        KdcResolution::KdcUrl(None) | KdcResolution::IAKerb => Err(TicketError::Kdc),
    }
}

/// The token and its creation time, ns since the Unix epoch.
fn first_token(
    kerberos: &mut Kerberos,
    identity: AuthIdentity,
    service: &str,
    purpose: Purpose,
) -> sspi::Result<(Vec<u8>, i64)> {
    let mut credentials = kerberos
        .acquire_credentials_handle()
        .with_credential_use(CredentialUse::Outbound)
        .with_auth_data(&identity.into())
        .execute(kerberos)?
        .credentials_handle;
    let mut input = [SecurityBuffer::new(Vec::new(), BufferType::Token)];
    let mut output = [SecurityBuffer::new(Vec::new(), BufferType::Token)];
    let mut builder = kerberos
        .initialize_security_context()
        .with_credentials_handle(&mut credentials)
        .with_context_requirements(purpose.wanted())
        .with_target_data_representation(DataRepresentation::Native)
        .with_target_name(service)
        .with_input(&mut input)
        .with_output(&mut output);
    kerberos.initialize_security_context_impl(&mut builder)?.resolve_with_client(&Network)?;
    let now = Clock::new().now();
    let [output] = output;
    Ok((output.buffer, now))
}

/// The reason without its details, which are bytes of the KDC.
fn reason(error: &sspi::Error) -> String {
    let text = &error.description;
    let reason = text.split(". Additional error").next().unwrap_or(text);
    if reason == PREAUTHENTICATION { format!("{reason} (is the password right?)") } else { reason.to_owned() }
}

/// `sspi`'s words for KDC_ERR_PREAUTH_FAILED.
const PREAUTHENTICATION: &str = "pre-authentication information was invalid";
