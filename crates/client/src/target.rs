//! Targets: `smb://user:password@host:port/share/path?addresses=IP,IP`, `nfs://host:port/export/path?version=3|4.0|4.1|4.2&xprtsec=tls`,
//! `nfs://user@host/export?sec=krb5|krb5i|krb5p`, `file:///mounted/path`, `embedded:smb`, `embedded:nfs?version=3|4.1|4.2`. Unambiguous
//! spellings of other tools are accepted: `cifs://`, `\\server\share`, `//server/share`, `host:/export`.
//!
//! A password may be in the URL, in a file, or in the environment ([`Target::find_password`]), those of many accounts in a file
//! ([`Target::find_accounts`]). No output contains it: `Display` leaves it out, `Debug` prints `Secret(..)`, and no error repeats a part
//! of a URL that may contain it, because a mistyped URL can contain the password too.

mod accounts;
mod parse;
mod password;
mod query;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use plimsoll_wire::rpc::Protection;

use crate::credentials::Credentials;

pub use password::{PASSWORD_VARIABLE, password_in};

/// What a build without Kerberos says.
pub(crate) const NOT_BUILT: &str =
    "this build lacks Kerberos: rebuild with `cargo build --release -p plimsoll --features kerberos`";

/// Port of SMB over TCP (MS-SMB2 1.9).
pub const SMB_PORT: u16 = 445;
/// Port of NFS (RFC 1813 2.2).
pub const NFS_PORT: u16 = 2049;
/// Port of the portmapper (RFC 1833 1).
pub const PORTMAP_PORT: u16 = 111;

/// The server, and a part of it.
#[derive(Clone, Debug)]
pub enum Target {
    /// An SMB share.
    Smb(SmbTarget),
    /// An NFS export.
    Nfs(NfsTarget),
    /// A mounted directory of this machine.
    Path(PathBuf),
    /// A server in this process.
    Embedded(Embedded),
}

/// A directory of an SMB share.
#[derive(Clone, Debug)]
pub struct SmbTarget {
    /// Where it listens.
    pub server: Server,
    /// The share's name.
    pub share: String,
    /// The directory within the share, parts separated by `/`; empty for the share itself.
    pub path: String,
    /// Credentials; anonymous if the URL names no user.
    pub credentials: Credentials,
    /// As whom clients log on, in turn; empty where all log on with `credentials`.
    pub accounts: Vec<Credentials>,
    /// Addresses of the server for the further connections of each session, in turn; empty: the server is asked for a list.
    pub addresses: Vec<IpAddr>,
}

/// An NFS export, or a directory in it.
#[derive(Clone, Debug)]
pub struct NfsTarget {
    /// Where NFS listens.
    pub server: Server,
    /// The directory that MOUNT is asked for, or that is looked up from the root (version 4), with its leading `/`.
    pub export: String,
    /// Version of NFS; `None`: the highest that the server offers.
    pub version: Option<NfsVersion>,
    /// The version was found by asking the server.
    pub version_found: bool,
    /// Slots that a session of version 4 asks for; `None` for the usual number.
    pub slots: Option<u32>,
    /// Ask for read delegations, from 4.1 on.
    pub delegations: bool,
    /// Port of MOUNT; `None`: the portmapper is asked.
    pub mount_port: Option<u16>,
    /// Port of the portmapper.
    pub portmap_port: u16,
    /// Call from source ports below 1024.
    pub reserved_port: bool,
    /// Call over TLS (RFC 9289).
    pub tls: bool,
    /// Authenticate calls with Kerberos, and protect them so; `None`: AUTH_SYS.
    pub security: Option<Protection>,
    /// The account for Kerberos; anonymous without.
    pub credentials: Credentials,
}

/// Version of NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NfsVersion {
    /// NFS version 3.
    V3,
    /// NFS version 4, minor version 0.
    V40,
    /// NFS version 4, minor version 1.
    V41,
    /// NFS version 4, minor version 2.
    V42,
}

impl NfsVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 4] = [Self::V3, Self::V40, Self::V41, Self::V42];

    /// As it stands in a target and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V3 => "3",
            Self::V40 => "4.0",
            Self::V41 => "4.1",
            Self::V42 => "4.2",
        }
    }

    /// Whether it has sessions, and therefore slots.
    #[must_use]
    pub fn has_sessions(self) -> bool {
        matches!(self, Self::V41 | Self::V42)
    }

    /// The version of the RPC program.
    #[must_use]
    pub fn program_version(self) -> u32 {
        if self == Self::V3 { 3 } else { 4 }
    }

    /// The minor version; `None` of version 3.
    #[must_use]
    pub fn minor(self) -> Option<u32> {
        match self {
            Self::V3 => None,
            Self::V40 => Some(0),
            Self::V41 => Some(1),
            Self::V42 => Some(2),
        }
    }
}

/// A server in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embedded {
    /// The SMB server.
    Smb,
    /// The NFS server, which speaks 3, 4.1 and 4.2.
    Nfs {
        /// The version that clients speak; `None`: 3.
        version: Option<NfsVersion>,
        /// Slots that a session asks for; `None` for the usual number.
        slots: Option<u32>,
        /// Clients ask for read delegations.
        delegations: bool,
    },
}

impl Embedded {
    /// The NFS server with version 3.
    pub const NFS: Self = Self::Nfs { version: None, slots: None, delegations: false };
}

/// A name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Name, IPv4 address, or IPv6 address without brackets (a zone may follow a `%`).
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// The forms of a target.
const FORMS: &str = "smb://[user@]host[:port]/share[/path] (also \\\\host\\share), nfs://host[:port]/export[?version=3|4.0|4.1|4.2] \
    (also host:/export), file:///path for a mounted directory, embedded:smb or embedded:nfs[?version=3|4.1|4.2]";

/// Why a target makes no sense. No message repeats what could be a password.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// None of the forms.
    #[error("unknown target format: expected {FORMS}")]
    Form,
    /// None of the forms, but a URL.
    #[error("the target begins with {0:?}: expected {FORMS}")]
    Scheme(String),
    /// A part is missing or invalid.
    #[error("the target's {part} {problem}")]
    Part {
        /// Which one.
        part: &'static str,
        /// The error, and the correct form.
        problem: &'static str,
    },
    /// This build lacks Kerberos.
    #[error("the target's sec={0}: {NOT_BUILT}")]
    Kerberos(&'static str),
    /// The file of accounts cannot be used. The problem does not repeat the file's content.
    #[error("--accounts {}: {problem}", file.display())]
    AccountsFile {
        /// Which one.
        file: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The password's file cannot be used.
    #[error("--password-file {}: {problem}", file.display())]
    PasswordFile {
        /// Which one.
        file: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A password is given where it cannot be used.
    #[error("{0}")]
    Password(&'static str),
}

impl Server {
    /// Resolves the host's addresses, best first: at least one.
    ///
    /// # Errors
    /// The name has no address, or the resolver fails.
    pub fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let mut addresses = Vec::new();
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("{}: no such host", self.host)));
        }
        Ok(addresses)
    }
}

impl Target {
    /// Gives an NFS target without a version the version of a recorded target that is otherwise equal.
    pub fn take_version(&mut self, recorded: &Target) {
        let (Self::Nfs(ours), Self::Nfs(theirs)) = (self, recorded) else { return };
        let without = |one: &NfsTarget| Self::Nfs(NfsTarget { version: None, ..one.clone() }).to_string();
        if ours.version.is_none() && without(ours) == without(theirs) {
            ours.version = theirs.version;
        }
    }

    /// The server to connect to; `None` for a path, and for an embedded server before it is started.
    #[must_use]
    pub fn server(&self) -> Option<&Server> {
        match self {
            Target::Smb(target) => Some(&target.server),
            Target::Nfs(target) => Some(&target.server),
            Target::Path(_) | Target::Embedded(_) => None,
        }
    }
}

impl NfsTarget {
    /// The options of the URL that differ from the usual.
    fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        options.extend(self.version.map(|version| format!("version={}", version.name())));
        options.extend(self.slots.map(|slots| format!("slots={slots}")));
        options.extend(self.delegations.then(|| DELEGATIONS.to_owned()));
        options.extend(self.mount_port.map(|port| format!("mountport={port}")));
        options.extend((self.portmap_port != PORTMAP_PORT).then(|| format!("portmapport={}", self.portmap_port)));
        options.extend(self.reserved_port.then(|| "resvport".to_owned()));
        options.extend(self.tls.then(|| "xprtsec=tls".to_owned()));
        options.extend(self.security.map(|security| format!("sec={}", security.kerberos_name())));
        options
    }

    /// Whether it has a version with sessions.
    #[must_use]
    pub fn has_sessions(&self) -> bool {
        self.version.is_some_and(NfsVersion::has_sessions)
    }
}

/// The option that asks for delegations.
const DELEGATIONS: &str = "delegations=yes";

/// As the host stands in a URL, with the port.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            // RFC 6874: the % before a zone is escaped.
            write!(f, "[{}]:{}", self.host.replace('%', "%25"), self.port)
        } else {
            write!(f, "{}:{}", escaped(self.host.as_bytes()), self.port)
        }
    }
}

/// The URL, without the password.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Smb(target) => {
                f.write_str("smb://")?;
                let Credentials { domain, user, .. } = &target.credentials;
                if !domain.is_empty() {
                    write!(f, "{};", escaped(domain.as_bytes()))?;
                }
                if !user.is_empty() {
                    write!(f, "{}@", escaped(user.as_bytes()))?;
                }
                write!(f, "{}/{}", target.server, escaped(target.share.as_bytes()))?;
                let parts = target.path.split('/').filter(|part| !part.is_empty());
                parts.into_iter().try_for_each(|part| write!(f, "/{}", escaped(part.as_bytes())))?;
                let before = std::iter::once("?addresses=").chain(std::iter::repeat(","));
                target.addresses.iter().zip(before).try_for_each(|(ip, before)| write!(f, "{before}{ip}"))
            }
            Target::Nfs(target) => {
                f.write_str("nfs://")?;
                if !target.credentials.user.is_empty() {
                    write!(f, "{}@", escaped(target.credentials.user.as_bytes()))?;
                }
                write!(f, "{}", target.server)?;
                target.export.split('/').skip(1).try_for_each(|part| write!(f, "/{}", escaped(part.as_bytes())))?;
                target
                    .options()
                    .iter()
                    .zip(std::iter::once('?').chain(std::iter::repeat('&')))
                    .try_for_each(|(option, before)| write!(f, "{before}{option}"))
            }
            Target::Path(path) => {
                f.write_str("file://")?;
                let parts = path.as_os_str().as_bytes().split(|byte| *byte == b'/').skip(1);
                parts.into_iter().try_for_each(|part| write!(f, "/{}", escaped(part)))
            }
            Target::Embedded(Embedded::Smb) => f.write_str("embedded:smb"),
            Target::Embedded(Embedded::Nfs { version, slots, delegations }) => {
                f.write_str("embedded:nfs")?;
                let options = [
                    version.map(|version| format!("version={}", version.name())),
                    slots.map(|slots| format!("slots={slots}")),
                    delegations.then(|| DELEGATIONS.to_owned()),
                ];
                let before = std::iter::once('?').chain(std::iter::repeat('&'));
                options.iter().flatten().zip(before).try_for_each(|(option, before)| write!(f, "{before}{option}"))
            }
        }
    }
}

/// Characters that are not escaped in a URL: unreserved ones (RFC 3986 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn escaped(bytes: &[u8]) -> impl fmt::Display + '_ {
    percent_encode(bytes, ESCAPED)
}
