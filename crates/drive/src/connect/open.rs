//! From a target to a server that was found.

use std::io;
use std::iter;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_client::Gss;
use plimsoll_client::VersionError;
use plimsoll_client::local::{Reading, Root};
use plimsoll_client::nfs3::{self, MountError, NfsOptions, Ports};
use plimsoll_client::nfs4::Nfs4Options;
use plimsoll_client::smb2::auth::{Account, Authentication, Credentials, Realm, TicketError};
use plimsoll_client::smb2::{Dialect, Requirement, SmbOptions};
use plimsoll_client::target::{NfsTarget, Server, SmbTarget, Target};
use plimsoll_client::tls::{Trust, TrustError};
use plimsoll_model::{Names, Symbol};

use super::nfs::caller;
use super::owner::random_number;
use super::version::{self, tls_of};
use super::{Connector, Nfs4Server, NfsServer, PathServer, SessionError, SmbServer};

/// Connection options besides the target's.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// SMB dialects to offer; one alone is forced.
    pub dialects: RangeInclusive<Dialect>,
    /// SMB signatures on everything.
    pub signing: Requirement,
    /// SMB encryption of everything.
    pub encryption: Requirement,
    /// SMB clients ask for leases of directories, and cache listings.
    pub directory_leases: bool,
    /// SMB users log on with Kerberos, with a ticket from here; `None`: with NTLM. NFS targets with `sec=krb5` get their ticket from here.
    pub kerberos: Option<Realm>,
    /// Whom clients believe to be a server with RPC over TLS.
    pub trust: Trust,
    /// Number of session slots to request with NFS 4.1, overriding the target's.
    pub slots: Option<u32>,
    /// How files of a path target are read.
    pub reading: Reading,
    /// How long mounting an NFS export may take.
    pub timeout: Duration,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        let (signing, encryption) = (Requirement::ServerDefault, Requirement::ServerDefault);
        Self {
            dialects: Dialect::V202..=Dialect::V311,
            signing,
            encryption,
            directory_leases: false,
            kerberos: None,
            trust: Trust::System,
            slots: None,
            reading: Reading::Unadvised,
            timeout: Duration::from_secs(30),
        }
    }
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its name has no address.
    #[error("{host}: {source}; check the name of the server, or give its IP address")]
    Resolve {
        /// The name.
        host: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// An address that the target gives for further connections accepts none.
    #[error(
        "?addresses= in the target: cannot connect to {address}: {source}; check this address and the firewall, or remove the address"
    )]
    Address {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// Its directory cannot be opened.
    #[error("{}: {source}; file:// needs a directory of this machine, e.g. where the share is mounted", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No version of NFS was found.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// Its export cannot be mounted.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// There is no session with it.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Nobody can be believed to be the server.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// There is no Kerberos ticket to log on with.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// The target is a server in this process, which must be started first and has its own address.
    #[error("an embedded server must be started before a client can connect to it")]
    Embedded,
}

/// Finds the server of a target: resolves its name, gets a ticket for it, asks its portmapper, mounts. `names` takes share and account.
///
/// # Errors
/// It cannot be found.
pub fn open(target: &Target, options: &ConnectOptions, names: &mut Names) -> Result<Box<dyn Connector>, ConnectError> {
    match target {
        Target::Smb(target) => Ok(Box::new(smb(target, options, names)?)),
        Target::Nfs(target) => nfs(target, options, names),
        Target::Path(path) => directory(path, options.reading, names),
        Target::Embedded(_) => Err(ConnectError::Embedded),
    }
}

/// The address of a server: of several, the first that takes a connection. Where none does, the first: connecting then says why.
pub(super) fn resolve(server: &Server, timeout: Duration) -> Result<SocketAddr, ConnectError> {
    let failed = |source| ConnectError::Resolve { host: server.host.clone(), source };
    let addresses = server.resolve().map_err(failed)?;
    first_to_answer(&addresses, timeout).ok_or_else(|| failed(io::Error::new(io::ErrorKind::NotFound, "no address")))
}

fn first_to_answer(addresses: &[SocketAddr], timeout: Duration) -> Option<SocketAddr> {
    let first = addresses.first().copied()?;
    if addresses.len() == 1 {
        return Some(first);
    }
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, patience(timeout)).is_ok();
    Some(addresses.iter().find(answers).copied().unwrap_or(first))
}

/// Given addresses are not replaced by others, so a session would wait for an address that never accepts a connection.
fn check_addresses(addresses: &[IpAddr], port: u16, timeout: Duration) -> Result<(), ConnectError> {
    addresses.iter().map(|ip| SocketAddr::new(*ip, port)).try_for_each(|address| {
        let connected = TcpStream::connect_timeout(&address, patience(timeout));
        connected.map(drop).map_err(|source| ConnectError::Address { address, source })
    })
}

fn patience(timeout: Duration) -> Duration {
    timeout.min(PROBE).max(Duration::from_millis(1))
}

/// How long an address of a server with several may take to accept a connection, at most.
const PROBE: Duration = Duration::from_secs(3);

fn nfs(target: &NfsTarget, connect: &ConnectOptions, names: &mut Names) -> Result<Box<dyn Connector>, ConnectError> {
    let timeout = connect.timeout;
    let Some(version) = target.version else {
        let mut found = target.clone();
        version::find(&mut found, connect)?;
        return nfs(&found, connect, names);
    };
    let version_found = target.version_found;
    let address = resolve(&target.server, timeout)?;
    let caller = caller();
    let security = security(target, connect)?;
    let tls = tls_of(target, version.program_version(), connect)?;
    if let Some(minor) = version.minor() {
        let mut options = Nfs4Options::new(&target.export, minor, &caller).map_err(MountError::from)?;
        options.slots = connect.slots.or(target.slots).unwrap_or(options.slots);
        options.security = security;
        options.delegations = target.delegations;
        let share = names.intern(&target.export);
        let user = user(target, names);
        let (options, reserved_port) = (Arc::new(options), target.reserved_port);
        let trunks = Mutex::default();
        let server = Nfs4Server { address, options, version_found, share, user, reserved_port, tls, trunks };
        server.try_out(timeout)?;
        return Ok(Box::new(server));
    }
    let NfsTarget { mount_port: mount, portmap_port: portmap, reserved_port: reserved, .. } = *target;
    let ports = Ports { mount, portmap, reserved, timeout, security: target.security };
    let mounted = nfs3::mount(address, &target.export, &ports, tls.as_ref(), &caller)?;
    let mut options = NfsOptions::new(mounted.root, &caller).map_err(MountError::from)?;
    options.security = security;
    let share = names.intern(&target.export);
    let user = user(target, names);
    Ok(Box::new(NfsServer { address, options: Arc::new(options), version_found, share, user, mounted, tls }))
}

/// Asks for the ticket of all calls, where the target wants Kerberos.
pub(super) fn security(target: &NfsTarget, connect: &ConnectOptions) -> Result<Option<Gss>, TicketError> {
    let Some(protection) = target.security else { return Ok(None) };
    let realm = connect.kerberos.clone().unwrap_or_default();
    Gss::request(&target.credentials, &realm, &target.server.host, protection).map(Some)
}

/// The caller's name in transactions: the account, or the user id.
fn user(target: &NfsTarget, names: &mut Names) -> Symbol {
    match target.security {
        Some(_) => names.intern(&target.credentials.user),
        None => names.intern(&rustix::process::geteuid().as_raw().to_string()),
    }
}

fn directory(path: &Path, reading: Reading, names: &mut Names) -> Result<Box<dyn Connector>, ConnectError> {
    let root =
        Root::open(path).map_err(|source| ConnectError::Directory { path: path.to_owned(), source })?.read(reading);
    let share = names.intern(&path.to_string_lossy());
    let user = names.intern(&rustix::process::geteuid().as_raw().to_string());
    Ok(Box::new(PathServer { root, share, user }))
}

fn smb(target: &SmbTarget, options: &ConnectOptions, names: &mut Names) -> Result<SmbServer, ConnectError> {
    let address = resolve(&target.server, options.timeout)?;
    check_addresses(&target.addresses, address.port(), options.timeout)?;
    let service = format!("cifs/{}", target.server.host);
    let account = |credentials: &Credentials| -> Result<Account, TicketError> {
        let ticket = |realm| Authentication::kerberos(credentials, realm, &service);
        let authentication = options.kerberos.as_ref().map(ticket).transpose()?.unwrap_or_default();
        Ok(Account { credentials: credentials.clone(), authentication })
    };
    // The first prepares the files.
    let all = || iter::once(&target.credentials).chain(&target.accounts);
    let smb = SmbOptions {
        dialects: options.dialects.clone(),
        signing: options.signing,
        encryption: options.encryption,
        accounts: all().map(account).collect::<Result<_, _>>()?,
        addresses: target.addresses.clone(),
        ..SmbOptions::new(&target.server.host, &target.share, target.credentials.clone())
    };
    Ok(SmbServer {
        address,
        options: Arc::new(smb),
        share: names.intern(&target.share),
        in_turn: if target.accounts.is_empty() { 0..1 } else { 1..1 + target.accounts.len() },
        users: all().map(|credentials| names.intern(&credentials.display())).collect(),
        seed: random_number(),
        directory_leases: options.directory_leases,
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Endpoint;

    use super::*;
    use crate::engine::ConnectionInfo;

    /// Samba serves all connections of a GUID in one process, and lease keys are made of it.
    #[test]
    fn two_runs_are_two_client_computers() {
        let Target::Smb(target) = Target::parse("smb://u:p@127.0.0.1/s").unwrap() else { panic!("another target") };
        let (client, server) = (Endpoint::NOWHERE, Endpoint::NOWHERE);
        let (connections, channels, connection, generation) = (1, 1, 0, 0);
        let [client_index, connection_index] = [0, 0];
        let info = ConnectionInfo {
            client_index,
            connection_index,
            connections,
            channels,
            connection,
            generation,
            client,
            server,
        };
        let opened = || smb(&target, &ConnectOptions::default(), &mut Names::default()).unwrap();
        let (one, other) = (opened(), opened());
        assert_ne!(one.guid(&info), other.guid(&info));
        assert_eq!(one.guid(&info), one.guid(&ConnectionInfo { generation: 1, ..info }), "after a reconnection");
        assert_ne!(one.guid(&info), one.guid(&ConnectionInfo { client_index: 1, ..info }));
    }

    #[test]
    fn an_address_on_which_nothing_listens_is_passed_over() {
        let listener = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (closed, open) = (listener(), listener());
        let [first, second] = [&closed, &open].map(|listener| listener.local_addr().unwrap());
        drop(closed);
        let found = || first_to_answer(&[first, second], Duration::from_secs(9));
        assert_eq!(found(), Some(second));
        drop(open);
        assert_eq!(found(), Some(first), "where none answers, the first");
        assert_eq!(first_to_answer(&[], Duration::from_secs(9)), None);
    }

    #[test]
    fn a_given_address_on_which_nothing_listens_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let checked = || check_addresses(&[IpAddr::from([127, 0, 0, 1])], port, Duration::from_secs(9));
        checked().unwrap();
        drop(listener);
        let said = checked().unwrap_err().to_string();
        assert!(said.contains(&format!("cannot connect to 127.0.0.1:{port}: Connection refused")), "{said}");
    }
}
