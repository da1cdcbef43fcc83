//! The servers that all clients talk to: Samba and NFS-Ganesha, with the same file. NFS-Ganesha has no TLS, so with TLS a process of this
//! program ends it in front of NFS-Ganesha.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_client::target::Target;
use plimsoll_client::tls::Trust;
use plimsoll_drive::connect::{self, ConnectOptions, Connector};
use plimsoll_model::Names;
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};

use crate::compare::content;
use crate::measured::cpu_of;
use crate::operation::{BIG_FILE, BIG_SIZE, Case, FILE, Protection, SIZE};
use crate::own_server::OwnServer;
use crate::realm::{self, Realm};
use crate::stream::EMPTY;

/// Starts the servers, says where they are, and ends them when standard input does: for a look at one client with a profiler.
pub fn keep() -> Result<(), Box<dyn Error>> {
    let servers = Servers::start(&Case::measured().collect::<Vec<_>>())?;
    let kerberos = cfg!(feature = "kerberos").then_some(Case::NfsKrb5pGetattr);
    let cases = [Case::SmbRead1, Case::SmbMultichannelRead8k, Case::NfsGetattr, Case::NfsTlsGetattr];
    for case in cases.into_iter().chain(kerberos) {
        let environment = servers.environment(case)?.iter();
        let environment: String = environment.map(|(name, value)| format!("{name}={} ", value.display())).collect();
        println!("{environment}{}", servers.target(case)?);
    }
    println!("{}", servers.libnfs_url());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// The servers.
pub struct Servers {
    samba: Samba,
    ganesha: Ganesha,
    tls: Option<OwnServer>,
    realm: Option<Realm>,
    scratch: Scratch,
}

impl Servers {
    /// Starts both, and those that only some of these operations need.
    pub fn start(operations: &[Case]) -> Result<Self, Box<dyn Error>> {
        let wanted = |protection| operations.iter().any(|operation| operation.protection() == protection);
        let scratch = Scratch::new("cost");
        let samba = Samba::start(&Samba::MULTICHANNEL).map_err(|missing| missing.to_string())?;
        let ganesha = Ganesha::start().map_err(|missing| missing.to_string())?;
        let upstream = ganesha.address().to_string();
        let tls = wanted(Protection::Tls).then(|| OwnServer::start(&["tls-server", &upstream])).transpose()?;
        let realm = wanted(Protection::Krb5p).then(|| Realm::start(scratch.path())).transpose()?;
        let of_the_realm = realm.as_ref().and_then(|realm| realm.ganesha.folder(Export::Data));
        let folders =
            [samba.folder(Share::Guest), samba.folder(Share::Data), ganesha.folder(Export::Data), of_the_realm];
        for folder in folders.into_iter().flatten() {
            std::fs::write(folder.join(FILE), content())?;
        }
        Ok(Self { samba, ganesha, tls, realm, scratch })
    }

    fn tls(&self) -> Result<&OwnServer, Box<dyn Error>> {
        Ok(self.tls.as_ref().ok_or("no server with TLS was started")?)
    }

    fn realm(&self) -> Result<&Realm, Box<dyn Error>> {
        Ok(self.realm.as_ref().ok_or("no server with Kerberos was started")?)
    }

    /// A folder for build outputs.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// The target's URL for Plimsoll. SMB clients with one connection log on as guests. A guest's session has no key, with which further
    /// connections are bound to it, so clients with several log on with the account. No session is signed.
    pub fn target(&self, operation: Case) -> Result<String, Box<dyn Error>> {
        let plain = self.ganesha.target(Export::Data);
        match operation.protection() {
            Protection::None => {}
            Protection::Tls => {
                let server = self.ganesha.address().to_string();
                return Ok(format!("{}&xprtsec=tls", plain.replacen(&server, self.tls()?.address(), 1)));
            }
            Protection::Krb5p => return Ok(self.realm()?.target()),
        }
        Ok(if operation.channels() > 1 {
            format!("smb://{}@{}/{}", Samba::USER, self.samba.address(), Share::Data.name())
        } else if operation.is_smb() {
            format!("smb://{}@{}/{}", self.user(), self.samba.address(), self.share())
        } else if operation.has_session() {
            self.ganesha.target_of(Export::Data, "4.1")
        } else {
            plain
        })
    }

    /// What the clients of an operation read from the environment.
    pub fn environment(&self, operation: Case) -> Result<&[(&'static str, OsString)], Box<dyn Error>> {
        match operation.protection() {
            Protection::Krb5p => self.realm().map(Realm::environment),
            _ => Ok(&[]),
        }
    }

    /// Where Samba listens.
    pub fn smb_address(&self) -> SocketAddr {
        self.samba.address()
    }

    /// Samba's share.
    pub fn share(&self) -> &'static str {
        Share::Guest.name()
    }

    /// The user who logs on to it.
    pub fn user(&self) -> &'static str {
        "Guest"
    }

    /// The password.
    pub fn password(&self) -> &'static str {
        ""
    }

    /// The export as libnfs writes it.
    pub fn libnfs_url(&self) -> String {
        self.ganesha.libnfs_url(Export::Data, "").trim_end_matches('/').replace("/?", "?")
    }

    /// A file of the export as libnfs writes it.
    pub fn libnfs_file(&self, file: &str) -> String {
        self.ganesha.libnfs_url(Export::Data, file)
    }

    /// Puts a big file into both, which stays in the cache where it was written; and an empty one.
    pub fn add_big_file(&self) -> Result<(), Box<dyn Error>> {
        let folders = [self.samba.folder(Share::Guest), self.ganesha.folder(Export::Data)];
        let mut first: Option<PathBuf> = None;
        for folder in folders.into_iter().flatten() {
            std::fs::write(folder.join(EMPTY), "")?;
            let file = folder.join(BIG_FILE);
            match &first {
                // One copy in the cache is enough for both.
                Some(first) => std::fs::hard_link(first, &file)?,
                None => {
                    let mut writer = std::fs::File::create(&file)?;
                    (0..BIG_SIZE / SIZE).try_for_each(|_| writer.write_all(&content()))?;
                    first = Some(file);
                }
            }
        }
        Ok(())
    }

    /// Processor time that the server of an operation has taken so far, with the processes that it started.
    pub fn cpu(&self, operation: Case) -> Result<Duration, Box<dyn Error>> {
        let leader = match operation.protection() {
            Protection::Krb5p => self.realm()?.ganesha.process_id(),
            _ if operation.is_smb() => self.samba.process_id(),
            _ => self.ganesha.process_id(),
        };
        let server = cpu_of(leader.ok_or("the server has ended")?, operation.is_smb())?;
        match operation.protection() {
            Protection::Tls => Ok(server + cpu_of(self.tls()?.process_id(), false)?),
            _ => Ok(server),
        }
    }
}

/// The server at a target's URL.
pub fn connector(operation: Case, url: &str, names: &mut Names) -> Result<Box<dyn Connector>, Box<dyn Error>> {
    let protection = operation.protection();
    let has_account = operation.channels() > 1 || protection == Protection::Krb5p;
    let target = if has_account { with_password(url)? } else { Target::parse(url)? };
    let mut options = ConnectOptions::default();
    match protection {
        Protection::None => {}
        // Whom a client trusts matters to the handshake, which is not measured.
        Protection::Tls => options.trust = Trust::Anyone,
        Protection::Krb5p => options.kerberos = Some(realm::of_environment()?),
    }
    Ok(connect::open(&target, &options, names)?)
}

/// A target, with the account's password.
pub fn with_password(url: &str) -> Result<Target, Box<dyn Error>> {
    let mut target = Target::parse(url)?;
    target.find_password(None, Some(Samba::PASSWORD.into()))?;
    Ok(target)
}
