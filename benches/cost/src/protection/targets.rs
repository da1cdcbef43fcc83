//! The servers, and the target and options of each protection.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_client::smb2::auth::Realm;
use plimsoll_client::smb2::{Dialect, Requirement};
use plimsoll_client::target::{Server, Target};
use plimsoll_client::tls::Trust;
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_testkit::servers::rpc_tls::{AUTHORITY, Manner, RpcTls};
use plimsoll_testkit::servers::{Export, Ganesha, Kdc, Samba, Scratch, Share};

use super::relay;
use crate::compare::content;
use crate::measured::cpu_of;
use crate::operation::FILE;
use crate::servers::with_password;

/// The version of the NFS rows.
const VERSION: &str = "4.1";

/// A row of the tables.
pub struct Protected {
    /// Its name.
    pub name: String,
    /// The place of the row to which its ratios refer.
    pub base: usize,
    pub is_smb: bool,
    pub target: Target,
    pub options: ConnectOptions,
    /// Beginnings of what client and server must agree on.
    pub facts: Vec<&'static str>,
    served_by: Served,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    Samba,
    Ganesha,
    GaneshaOfTheRealm,
    /// Also by threads of this process, whose time is not measured.
    Relay,
}

/// The servers.
pub struct Targets {
    samba: Samba,
    ganesha: Ganesha,
    realm: Option<(Kdc, Ganesha)>,
    tls: RpcTls,
    relay: std::net::SocketAddr,
    authority: PathBuf,
    _scratch: Scratch,
}

impl Targets {
    /// Starts them.
    pub fn start() -> Result<Self, Box<dyn Error>> {
        let samba = Samba::start(&[]).map_err(|missing| missing.to_string())?;
        let ganesha = Ganesha::start().map_err(|missing| missing.to_string())?;
        let realm = if cfg!(feature = "kerberos") {
            let kdc = Kdc::start().map_err(|missing| missing.to_string())?;
            let ganesha = Ganesha::start_with_kerberos(&kdc).map_err(|missing| missing.to_string())?;
            Some((kdc, ganesha))
        } else {
            println!("Kerberos is not measured: build with --features kerberos.");
            None
        };
        let of_the_realm = realm.as_ref().and_then(|(_, ganesha)| ganesha.folder(Export::Data));
        let folders = [samba.folder(Share::Data), ganesha.folder(Export::Data), of_the_realm];
        for folder in folders.into_iter().flatten() {
            std::fs::write(folder.join(FILE), content())?;
        }
        let scratch = Scratch::new("protection");
        let authority = scratch.path().join("authority.pem");
        std::fs::write(&authority, AUTHORITY)?;
        let tls = RpcTls::start(ganesha.address(), Manner::Serves)?;
        let relay = relay::start(ganesha.address())?;
        Ok(Self { samba, ganesha, realm, tls, relay, authority, _scratch: scratch })
    }

    /// The rows.
    pub fn rows(&self) -> Result<Vec<Protected>, Box<dyn Error>> {
        let mut rows = self.smb()?;
        rows.extend(self.nfs(rows.len())?);
        Ok(rows)
    }

    fn smb(&self) -> Result<Vec<Protected>, Box<dyn Error>> {
        let url = format!("smb://{}@{}/{}", Samba::USER, self.samba.address(), Share::Data.name());
        let row = |name: &str, dialect: Dialect, signing, encryption, facts: [&'static str; 2]| {
            let name = format!("SMB {}, {name}", dialect.name());
            let options =
                ConnectOptions { dialects: dialect..=dialect, signing, encryption, ..ConnectOptions::default() };
            let (target, facts) = (with_password(&url)?, facts.to_vec());
            Ok(Protected { name, base: 0, is_smb: true, target, options, facts, served_by: Served::Samba })
        };
        let (plain, demanded) = (Requirement::ServerDefault, Requirement::Demanded);
        [
            row("none", Dialect::V311, plain, plain, ["not signed", "not encrypted"]),
            row("signed, AES-GMAC", Dialect::V311, demanded, plain, ["signed with AES-GMAC", "not encrypted"]),
            row("signed, AES-CMAC", Dialect::V302, demanded, plain, ["signed with AES-CMAC", "not encrypted"]),
            row("signed, HMAC-SHA256", Dialect::V210, demanded, plain, ["signed with HMAC-SHA256", "not encrypted"]),
            row("encrypted, AES-128-GCM", Dialect::V311, plain, demanded, ["SMB 3.1.1", "encrypted with AES-128-GCM"]),
            row("encrypted, AES-128-CCM", Dialect::V302, plain, demanded, ["SMB 3.0.2", "encrypted with AES-128-CCM"]),
        ]
        .into_iter()
        .collect()
    }

    fn nfs(&self, first: usize) -> Result<Vec<Protected>, Box<dyn Error>> {
        let path = Export::Data.path();
        let row = |name: &str, base, url: String, options, facts: &[&'static str], served_by| {
            let name = format!("NFS {VERSION}, {name}");
            let (target, facts) = (with_password(&url)?, facts.to_vec());
            Ok::<_, Box<dyn Error>>(Protected { name, base, is_smb: false, target, options, facts, served_by })
        };
        let plain = ConnectOptions::default;
        let relayed = format!("nfs://{}{path}?version={VERSION}", self.relay);
        let tls = format!("nfs://{}{path}?version={VERSION}&xprtsec=tls", self.tls.address());
        let trust = ConnectOptions { trust: Trust::File(self.authority.clone()), ..plain() };
        let direct = self.ganesha.target_of(Export::Data, VERSION);
        let mut rows = vec![
            row("none", first, direct, plain(), &["AUTH_SYS"], Served::Ganesha)?,
            row("none, through a relay", first + 1, relayed, plain(), &["AUTH_SYS"], Served::Relay)?,
            row("TLS, through a relay", first + 1, tls, trust, &["AUTH_SYS", "RPC over TLS"], Served::Relay)?,
        ];
        let Some((kdc, ganesha)) = &self.realm else { return Ok(rows) };
        let at = Server { host: kdc.address().ip().to_string(), port: kdc.address().port() };
        let kerberos = Some(Realm { name: Some(Kdc::REALM.to_owned()), kdc: Some(at) });
        let protections = [("krb5", "Kerberos (krb5)"), ("krb5i", "Kerberos (krb5i)"), ("krb5p", "Kerberos (krb5p)")];
        for (security, fact) in protections {
            let port = ganesha.address().port();
            let url = format!("nfs://{}@localhost:{port}{path}?version={VERSION}&sec={security}", Samba::USER);
            let options = ConnectOptions { kerberos: kerberos.clone(), ..plain() };
            rows.push(row(&format!("sec={security}"), first, url, options, &[fact], Served::GaneshaOfTheRealm)?);
        }
        Ok(rows)
    }

    /// Processor time that the server of a row has used so far; `None` if the server runs in our own process.
    pub fn server_cpu(&self, row: &Protected) -> Result<Option<Duration>, Box<dyn Error>> {
        let process = match row.served_by {
            Served::Samba => self.samba.process_id(),
            Served::Ganesha => self.ganesha.process_id(),
            Served::GaneshaOfTheRealm => self.realm.as_ref().and_then(|(_, ganesha)| ganesha.process_id()),
            Served::Relay => return Ok(None),
        };
        cpu_of(process.ok_or("the server has ended")?, row.is_smb).map(Some)
    }
}
