//! Flags for the logon of SMB users.

use std::path::{Path, PathBuf};

use plimsoll_client::smb2::auth::{Authentication, Realm, TicketError};
use plimsoll_client::target::{Server, Target};

use plimsoll_experiment::KerberosSpec;

use crate::exit::Usage;

/// Flags for the logon of SMB users.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct AuthFlags {
    /// Logon protocol for SMB: ntlm, or kerberos (only in builds with this feature). With kerberos, Plimsoll gets one ticket per account
    /// before the run, and uses it for all logons of the account. For Kerberos with NFS, see sec in --target
    #[arg(long, value_name = "HOW", value_parser = parse_how, default_value = "ntlm")]
    auth: How,
    /// Kerberos realm. In a target URL, the realm follows %40: smb://user%40REALM@host/share, nfs://user%40REALM@host/export?sec=krb5
    /// [default: the realm in the target URL]
    #[arg(long, value_name = "REALM")]
    realm: Option<String>,
    /// Address of the KDC, e.g. kdc.example.com:88 [default: the first KDC in krb5.conf]
    #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_kdc)]
    kdc: Option<Server>,
    /// File of SMB accounts, one per line: [DOMAIN\]USER:PASSWORD, or USER{1-50}:PASSWORD{} for 50 accounts. Client 1 logs
    /// on with the first account, client 2 with the second, and so on; after the last account, the first account is used
    /// again. The user in the target URL prepares the files; if the URL has no user, the first account prepares them
    #[arg(long, value_name = "FILE")]
    accounts: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Ntlm,
    Kerberos,
}

/// Port of a KDC (RFC 4120 7.2.1).
const KDC_PORT: u16 = 88;

impl AuthFlags {
    /// Whether the flags fit the target.
    pub(crate) fn check(&self, target: &Target) -> Result<(), Usage> {
        let wrong = match (self.auth, target) {
            (_, Target::Nfs(target)) if target.security.is_some() => return Ok(()),
            (How::Ntlm, _) if self.realm.is_some() || self.kdc.is_some() => {
                "--realm and --kdc need --auth kerberos, or a target nfs://user@host/export?sec=krb5"
            }
            (How::Ntlm, _) | (How::Kerberos, Target::Smb(_)) => return Ok(()),
            (How::Kerberos, _) => {
                "--auth kerberos needs an SMB target with a user: smb://user@host/share (for NFS: nfs://user@host/export?sec=krb5)"
            }
        };
        Err(Usage(wrong.to_owned()))
    }

    /// The file of the accounts.
    pub(crate) fn accounts(&self) -> Option<&Path> {
        self.accounts.as_deref()
    }

    /// Settings for the recording; `None`: NTLM.
    pub(crate) fn spec(&self) -> Option<KerberosSpec> {
        let kdc = self.kdc.as_ref().map(ToString::to_string);
        self.realm().is_some().then(|| KerberosSpec { realm: self.realm.clone(), kdc })
    }

    /// Flags from a recording.
    pub(crate) fn of(spec: Option<&KerberosSpec>, accounts: Option<PathBuf>) -> Result<Self, String> {
        let Some(KerberosSpec { realm, kdc }) = spec else {
            return Ok(Self { auth: How::Ntlm, realm: None, kdc: None, accounts });
        };
        let kdc = kdc.as_deref().map(parse_kdc).transpose()?;
        Ok(Self { auth: parse_how("kerberos")?, realm: realm.clone(), kdc, accounts })
    }

    /// The realm of the tickets, if SMB logs on with Kerberos, or if NFS needs a certain one.
    pub(crate) fn realm(&self) -> Option<Realm> {
        let realm = || Realm { name: self.realm.clone(), kdc: self.kdc.clone() };
        (self.auth == How::Kerberos || self.realm.is_some() || self.kdc.is_some()).then(realm)
    }
}

fn parse_how(text: &str) -> Result<How, String> {
    match text {
        "ntlm" => Ok(How::Ntlm),
        "kerberos" if Authentication::HAS_KERBEROS => Ok(How::Kerberos),
        "kerberos" => Err(TicketError::NotBuilt.to_string()),
        _ => Err("expected ntlm or kerberos".to_owned()),
    }
}

fn parse_kdc(text: &str) -> Result<Server, String> {
    Server::parse(text, KDC_PORT).map_err(|_| "expected HOST or HOST:PORT (default port: 88)".to_owned())
}
