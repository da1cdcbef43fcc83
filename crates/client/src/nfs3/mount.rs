//! From an export's path to its handle: portmap, MOUNT. Once a run, before anything is timed.
//!
//! Spec: RFC 1813 5, RFC 1833 3

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_wire::nfs::mount::{self as wire, MountCall};
use plimsoll_wire::nfs::mount_status_name;
use plimsoll_wire::nfs::portmap::{GetPort, TCP, parse_port};
use plimsoll_wire::nfs::status::{MNT3ERR_ACCES, MNT3ERR_NOENT, MNT3ERR_NOTDIR, MNT3ERR_PERM};
use plimsoll_wire::nfs::status_name;
use plimsoll_wire::nfs::v3::lookup::{self, Lookup};
use plimsoll_wire::nfs::v3::{Answer, Call, FileHandle, Place};
use plimsoll_wire::rpc::{CallTemplate, Caller, CallerError, Program, Protection, Verdict};

use super::options::{PROGRAM, VERSION};
use crate::nfs::of_unreached;
use crate::rpc::{CallError, Limit, SequentialCalls};
use crate::tls::Tls;

/// The portmapper's program and version.
const PORTMAP: (u32, u32) = (Program::Portmap.number(), 2);
/// MOUNT's program and version.
const MOUNT: (u32, u32) = (Program::Mount.number(), 3);
/// Timeout of an unmount, which has no effect on the server.
const LONGEST_UNMOUNT: Duration = Duration::from_secs(5);
/// NULL of any program.
const NULL: u32 = 0;
/// AUTH_NONE and AUTH_SYS: what calls have without Kerberos. (RFC 5531 8.1)
const FLAVORS: [u32; 2] = [0, 1];
/// MNTPATHLEN: the longest path that MOUNT takes, bytes. (RFC 1813 5.1)
const LONGEST_PATH: usize = 1024;
/// The path may lie below an export.
const PERHAPS_BELOW: [u32; 3] = [MNT3ERR_NOENT, MNT3ERR_ACCES, MNT3ERR_NOTDIR];

const DENIED: [u32; 2] = [MNT3ERR_PERM, MNT3ERR_ACCES];
/// What to try where a server denies.
const FROM_BELOW: &str = "; or the server may accept only source ports below 1024 (default on Linux): add ?resvport to the target (after \
    other options: &resvport) and run as root";
/// What else the answers to an unknown path mean: MNT3ERR_NOENT, and MNT3ERR_ACCES of servers that say no more (NFS-Ganesha).
const NO_EXPORT: &str =
    "; the path may not be an export with NFS 3 (NFS 4 may have other paths), or not for this client";
/// What to try where the portmapper may have named the MOUNT of another server.
const OTHER_MOUNT: &str = "; the portmapper named this MOUNT: if another server of this host registered it, give the right one with \
    ?mountport=PORT";

/// An export that was mounted.
#[derive(Clone, Debug)]
pub struct Mounted {
    /// The handle of the path asked for.
    pub root: FileHandle,
    /// The path that MOUNT accepted: the requested one, or a parent.
    pub export: String,
    /// Where MOUNT answers.
    pub mount: SocketAddr,
    /// It is called from source ports below 1024.
    pub reserved_port: bool,
    /// How long mounting was allowed to take.
    pub timeout: Duration,
}

/// The ports that an export is mounted by.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// The port of MOUNT; `None`: queried from the portmapper.
    pub mount: Option<u16>,
    /// The port of the portmapper.
    pub portmap: u16,
    /// Our own are below 1024.
    pub reserved: bool,
    /// How long mounting may take, from asking the portmapper to the handle.
    pub timeout: Duration,
    /// The protection of NFS calls with Kerberos, which the export must accept.
    pub security: Option<Protection>,
}

/// Why an export cannot be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The connection failed.
    #[error("{what} at {address}: {source}{}", of_unreached(source))]
    Connection {
        /// The called service.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// What happened.
        source: io::Error,
    },
    /// The server's RPC layer did not take the call on, or its answer made no sense.
    #[error("{what} at {address} sent an unusable response: {problem}")]
    Answer {
        /// The called service.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// The error.
        problem: String,
    },
    /// No MOUNT is registered with the portmapper.
    #[error(
        "the portmapper at {0} has no entry for MOUNT version 3 over TCP; give the port of MOUNT in the target: \
        ?mountport=PORT"
    )]
    NotRegistered(SocketAddr),
    /// The server refused.
    #[error("cannot mount {path}: MOUNT at {mount} answered {status}{hint}")]
    Refused {
        /// The path.
        path: String,
        /// Where MOUNT is.
        mount: SocketAddr,
        /// The status, by name.
        status: String,
        /// What to try, where something can be.
        hint: String,
    },
    /// The server requires other kinds of credentials.
    #[error(
        "{path} does not accept sec={asked}, only the security flavors {flavors:?} (1: sys, 390003: krb5, 390004: krb5i, \
        390005: krb5p); give one of these with sec= in the target"
    )]
    Flavors {
        /// The path.
        path: String,
        /// The option `sec` of the target.
        asked: &'static str,
        /// The server's flavors: 6 and 390,003 to 390,005 are Kerberos (RFC 2623 2.1).
        flavors: Vec<u32>,
    },
    /// A part of the path below the export is not there.
    #[error("cannot look up {path}, below the export {export}: {status}")]
    Below {
        /// The export.
        export: String,
        /// The path below it.
        path: String,
        /// The status, by name.
        status: String,
    },
    /// Below an export, with Kerberos.
    #[error(
        "{path} is below the export {export}, and Plimsoll cannot mount such a path with NFS 3 and Kerberos: give the export itself, \
        or NFS 4 (e.g. version=4.1)"
    )]
    BelowWithKerberos {
        /// The export.
        export: String,
        /// The path.
        path: String,
    },
    /// The credential cannot be said.
    #[error(transparent)]
    Caller(#[from] CallerError),
}

/// Finds the handle of a path. A path below an export is looked up from the export. With `tls`, NFS is called over TLS, and called once
/// in any case: a server without TLS is found out here. The portmapper and MOUNT, other servers on other ports, are called without, as
/// Linux does.
///
/// # Errors
/// The server cannot be reached, refuses, or makes no sense.
pub fn mount(
    nfs: SocketAddr,
    path: &str,
    ports: &Ports,
    tls: Option<&Arc<Tls>>,
    caller: &Caller<'_>,
) -> Result<Mounted, MountError> {
    let limit = Limit::new(ports.timeout);
    let (program, reserved_port) = ((PROGRAM, VERSION), ports.reserved);
    let server = Server { what: "NFS", address: nfs, program, reserved_port, limit, tls };
    if tls.is_some() {
        server.call(NULL, &Caller::Nobody, |_| {})?;
    }
    let port = ports.mount.map_or_else(|| ask_port(nfs.ip(), ports, limit), Ok)?;
    let address = SocketAddr::new(nfs.ip(), port);
    let mount = Server { what: "MOUNT", address, program: MOUNT, reserved_port, limit, tls: None };
    let mut first = None;
    // A server cannot decode a longer path. What is below its beginning is looked up.
    let mut export = path;
    while export.len() > LONGEST_PATH {
        export = above(export).unwrap_or("/");
    }
    loop {
        match ask_handle(&mount, export, caller)? {
            wire::Mounted::Root(_, flavors) if !accepts(&flavors, ports.security) => {
                let asked = ports.security.map_or("sys", Protection::kerberos_name);
                return Err(MountError::Flavors { path: export.to_owned(), asked, flavors });
            }
            // Looking up what is below would need a context.
            wire::Mounted::Root(..) if ports.security.is_some() && export != path => {
                return Err(MountError::BelowWithKerberos { export: export.to_owned(), path: path.to_owned() });
            }
            wire::Mounted::Root(handle, _) => {
                let root = look_up(&server, handle, export, path, caller)?;
                let (export, timeout) = (export.to_owned(), ports.timeout);
                return Ok(Mounted { root, export, mount: address, reserved_port, timeout });
            }
            wire::Mounted::Refused(status) => {
                let said = *first.get_or_insert(status);
                let Some(next) = above(export).filter(|_| PERHAPS_BELOW.contains(&status)) else {
                    let status = mount_status_name(said).map_or_else(|| said.to_string(), str::to_owned);
                    let hint = hint(said, ports);
                    return Err(MountError::Refused { path: path.to_owned(), mount: address, status, hint });
                };
                export = next;
            }
        }
    }
}

/// The path of the directory above; `None` for the root.
fn above(path: &str) -> Option<&str> {
    let end = path.trim_end_matches('/').rfind('/').filter(|_| path.len() > 1)?;
    path.get(..end.max(1))
}

/// What to try after a refusal with this status.
fn hint(status: u32, ports: &Ports) -> String {
    let unknown = PERHAPS_BELOW.contains(&status);
    let hints = [
        (unknown, NO_EXPORT),
        (DENIED.contains(&status) && !ports.reserved, FROM_BELOW),
        (unknown && ports.mount.is_none(), OTHER_MOUNT),
    ];
    hints.iter().filter(|(applies, _)| *applies).map(|(_, hint)| *hint).collect()
}

/// Tells the server that the export is not mounted any more.
///
/// # Errors
/// The server cannot be reached, or makes no sense.
pub fn unmount(mounted: &Mounted, caller: &Caller<'_>) -> Result<(), MountError> {
    let call = MountCall::Unmount(&mounted.export);
    let Mounted { mount: address, reserved_port, .. } = *mounted;
    let limit = Limit::new(mounted.timeout.min(LONGEST_UNMOUNT));
    let server = Server { what: "MOUNT", address, program: MOUNT, reserved_port, limit, tls: None };
    let results = server.call(call.procedure(), caller, |out| call.emit(out))?;
    wire::parse_nothing(&results).map_err(|error| server.answer(error.to_string()))
}

/// Whether an export with these flavors takes the calls. A server that lists none leaves it open.
fn accepts(flavors: &[u32], security: Option<Protection>) -> bool {
    let ours = |flavor: &u32| match security {
        None => FLAVORS.contains(flavor),
        Some(protection) => *flavor == protection.kerberos_flavor(),
    };
    flavors.is_empty() || flavors.iter().any(ours)
}

fn ask_port(host: IpAddr, ports: &Ports, limit: Limit) -> Result<u16, MountError> {
    let address = SocketAddr::new(host, ports.portmap);
    let reserved_port = ports.reserved;
    let server = Server { what: "the portmapper", address, program: PORTMAP, reserved_port, limit, tls: None };
    let ask = GetPort { program: MOUNT.0, version: MOUNT.1, protocol: TCP };
    let results = server.call(GetPort::PROCEDURE, &Caller::Nobody, |out| ask.emit(out))?;
    match parse_port(&results) {
        Ok(0) => Err(MountError::NotRegistered(server.address)),
        Ok(port) => Ok(port),
        Err(error) => Err(server.answer(error.to_string())),
    }
}

fn ask_handle(server: &Server<'_>, path: &str, caller: &Caller<'_>) -> Result<wire::Mounted, MountError> {
    let call = MountCall::Mount(path);
    let results = server.call(call.procedure(), caller, |out| call.emit(out))?;
    wire::parse_mounted(&results).map_err(|error| server.answer(error.to_string()))
}

/// Walks from an export's handle to the handle of a path below it.
fn look_up(
    server: &Server<'_>,
    handle: FileHandle,
    export: &str,
    path: &str,
    caller: &Caller<'_>,
) -> Result<FileHandle, MountError> {
    let below = path.strip_prefix(export).unwrap_or_default();
    below.split('/').filter(|part| !part.is_empty()).try_fold(handle, |directory, part| {
        let ask = Lookup { what: Place { directory: &directory, name: part.as_bytes() } };
        let results = server.call(Lookup::PROCEDURE, caller, |out| ask.emit(out))?;
        match lookup::parse(&results).map_err(|error| server.answer(error.to_string()))? {
            Answer::Done(found) => Ok(found.object),
            Answer::Refused(status) => {
                let (export, path) = (export.to_owned(), below.to_owned());
                let status = status_name(3, status).map_or_else(|| status.to_string(), str::to_owned);
                Err(MountError::Below { export, path, status })
            }
        }
    })
}

/// A program that is called once.
#[derive(Clone, Copy)]
struct Server<'a> {
    what: &'static str,
    address: SocketAddr,
    program: (u32, u32),
    reserved_port: bool,
    limit: Limit,
    tls: Option<&'a Arc<Tls>>,
}

impl Server<'_> {
    /// Calls a procedure over a new connection; returns its results.
    fn call(
        &self,
        procedure: u32,
        caller: &Caller<'_>,
        arguments: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Vec<u8>, MountError> {
        let Self { what, address, program: (program, version), reserved_port, limit, tls } = *self;
        let template = CallTemplate::new(program, version, caller)?;
        let lost = |source| MountError::Connection { what, address, source };
        let mut calls = SequentialCalls::connect(address, reserved_port, tls, limit).map_err(lost)?;
        match calls.call(&template, procedure, arguments) {
            Ok(Verdict::Success(results)) => Ok(results.to_vec()),
            Ok(verdict) => Err(self.answer(format!("{verdict:?}"))),
            Err(CallError::Connection(source)) => Err(lost(source)),
            Err(CallError::Answer(problem)) => Err(self.answer(problem)),
        }
    }

    fn answer(&self, problem: String) -> MountError {
        MountError::Answer { what: self.what, address: self.address, problem }
    }
}
