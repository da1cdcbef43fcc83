//! Where an account is known, and why there is no ticket for it.

use crate::target::{NOT_BUILT, Server};

/// Where an account is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Realm {
    /// The realm; `None`: the account contains it (`user@REALM`, or its domain).
    pub name: Option<String>,
    /// Its KDC; `None`: the first that `krb5.conf` names for the realm.
    pub kdc: Option<Server>,
}

/// Why there is no ticket.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// The build lacks the feature.
    #[error("{NOT_BUILT}")]
    NotBuilt,
    /// The logon is anonymous.
    #[error(
        "Kerberos needs a user and a password: name the user in the target (smb://user@host/share or nfs://user@host/export?sec=krb5), \
        and give the password in a file (--password-file FILE) or in PLIMSOLL_PASSWORD"
    )]
    NoAccount,
    /// No realm is named.
    #[error("Kerberos needs a realm: give --realm REALM, or write the user in the target as user%40REALM")]
    NoRealm,
    /// The KDC's address is malformed.
    #[error("expected the KDC as HOST or HOST:PORT")]
    Kdc,
    /// The KDC refused, or cannot be reached. Its message is untrusted text.
    #[error("no Kerberos ticket for {service} in realm {realm}: {problem}")]
    Refused {
        /// `cifs/server` or `nfs/server`.
        service: String,
        /// The realm of the KDC.
        realm: String,
        /// Why.
        problem: String,
    },
}
