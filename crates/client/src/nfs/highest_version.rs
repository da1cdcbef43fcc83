//! The highest version of NFS that a server speaks: asked once before the load, from 4.2 down to 3.
//!
//! Only an answer that says "not this version" leads to the next lower one. Any other refusal, a lost connection or silence is an error.
//!
//! Spec: RFC 5531 9 (PROG_MISMATCH, PROG_UNAVAIL), RFC 8881 16.2.3 (NFS4ERR_MINOR_VERS_MISMATCH)

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_wire::nfs::status::NFS4ERR_MINOR_VERS_MISMATCH;
use plimsoll_wire::nfs::v4::{Compound, CompoundReply, PutRoot};
use plimsoll_wire::rpc::{CallTemplate, Caller, CallerError, Program, Verdict};

use crate::rpc::{CallError, Gss, Limit, SequentialCalls};
use crate::target::NfsVersion;
use crate::tls::{Tls, VersionNotOffered};

/// Number of the NFS program (RFC 1813 3.1).
const PROGRAM: u32 = Program::Nfs.number();
const NULL: u32 = 0;
const COMPOUND: u32 = 1;

/// Which server is asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct VersionQuestion<'a> {
    /// Where NFS listens.
    pub address: SocketAddr,
    /// Our source ports are below 1024.
    pub reserved_port: bool,
    /// Only versions with sessions will do.
    pub with_sessions: bool,
    /// TLS for version 4, and for version 3; `None`: without TLS.
    pub tls: Option<[&'a Arc<Tls>; 2]>,
    /// The Kerberos protection of the questions; `None`: they are asked as `caller`.
    pub security: Option<&'a Gss>,
    /// The caller without Kerberos.
    pub caller: Caller<'a>,
    /// How long all of it may take.
    pub timeout: Duration,
}

/// Why no version was found.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// The connection failed.
    #[error("NFS at {address}: {source}{}", of_lost(source))]
    Connection {
        /// Where.
        address: SocketAddr,
        /// What happened.
        source: io::Error,
    },
    /// The answer to the question says nothing about the version.
    #[error(
        "cannot find out which NFS versions {address} supports: {problem}; give the version in the target, e.g. ?version=4.1 or ?version=3"
    )]
    Answer {
        /// Where.
        address: SocketAddr,
        /// What was answered.
        problem: String,
    },
    /// There is no common version.
    #[error("the server at {address} {offers}; Plimsoll supports NFS 4.2, 4.1, 4.0 and 3")]
    NoCommon {
        /// Where.
        address: SocketAddr,
        /// What the server offers.
        offers: String,
    },
    /// There is no version with sessions.
    #[error(
        "the server at {0} offers neither NFS 4.2 nor NFS 4.1, but the options `slots` and `delegations` of the target need one of \
        these versions: remove these options"
    )]
    NoSessions(SocketAddr),
    /// The credential exceeds a limit of AUTH_SYS.
    #[error(transparent)]
    Caller(#[from] CallerError),
}

/// Advice for a server that ends the connection in place of an answer.
fn of_lost(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            " when Plimsoll asked for the NFS versions of the server; check that this port speaks NFS, or give the version in the target, \
            e.g. ?version=3"
        }
        _ => of_unreached(source),
    }
}

/// Advice for a server that cannot be reached.
#[must_use]
pub fn of_unreached(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::ConnectionRefused => "; check that the server is running and listens on this port",
        io::ErrorKind::TimedOut => "; check the server's address, the port and the firewall",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "; check that this port belongs to this service"
        }
        _ => "",
    }
}

/// What a server says about a version.
enum Offer {
    Yes,
    /// Version 4, in another minor version.
    OtherMinor,
    /// Not this version of the program; which it has, in words.
    No(String),
}

impl VersionQuestion<'_> {
    /// Asks the server, over one connection (with TLS, over a second one where the first shows that there is no version 4).
    ///
    /// # Errors
    /// The server cannot be reached, has no version that Plimsoll supports, or does not say.
    pub fn ask(&self) -> Result<NfsVersion, VersionError> {
        let limit = Limit::new(self.timeout);
        let [tls_of_4, tls_of_3] = self.tls.map_or([None, None], |[of_4, of_3]| [Some(of_4), Some(of_3)]);
        let mut calls = match self.connect(tls_of_4, limit) {
            Err(error) if error.get_ref().is_some_and(|inner| inner.is::<VersionNotOffered>()) => {
                let mut calls = self.connect(tls_of_3, limit).map_err(|source| self.lost(source))?;
                return self.version_3(&mut calls);
            }
            connected => connected.map_err(|source| self.lost(source))?,
        };
        let version = self.highest(&mut calls);
        calls.leave();
        version
    }

    /// Asks over a connection on which there may be version 4.
    fn highest(&self, calls: &mut SequentialCalls) -> Result<NfsVersion, VersionError> {
        calls.secure(self.security, (PROGRAM, 4));
        for version in NfsVersion::ALL.into_iter().rev() {
            let Some(minor) = version.minor() else { break };
            if self.with_sessions && !version.has_sessions() {
                break;
            }
            match self.offer_of_4(calls, minor)? {
                Offer::Yes => return Ok(version),
                Offer::OtherMinor => {}
                Offer::No(_) => break,
            }
        }
        self.version_3(calls)
    }

    /// Whether there is version 3, after it was seen that there is nothing higher.
    fn version_3(&self, calls: &mut SequentialCalls) -> Result<NfsVersion, VersionError> {
        if self.with_sessions {
            return Err(VersionError::NoSessions(self.address));
        }
        calls.secure(self.security, (PROGRAM, 3));
        let template = CallTemplate::new(PROGRAM, 3, &Caller::Nobody)?;
        match self.verdict(calls.call(&template, NULL, |_| {}))? {
            Offer::No(offers) => Err(VersionError::NoCommon { address: self.address, offers }),
            Offer::Yes | Offer::OtherMinor => Ok(NfsVersion::V3),
        }
    }

    /// Whether there is a minor version of version 4. The compound needs no session, and changes nothing: with sessions the server
    /// refuses it after the check of the minor version.
    fn offer_of_4(&self, calls: &mut SequentialCalls, minor: u32) -> Result<Offer, VersionError> {
        let template = CallTemplate::new(PROGRAM, 4, &self.caller)?;
        let answer = calls.call(&template, COMPOUND, |out| {
            Compound::begin(minor, out).add(&PutRoot);
        });
        if let Ok(Verdict::Success(results)) = &answer {
            return match CompoundReply::new(results).status {
                // It takes precedence over all other errors (RFC 8881 16.2.3).
                Some(NFS4ERR_MINOR_VERS_MISMATCH) => Ok(Offer::OtherMinor),
                Some(_) => Ok(Offer::Yes),
                None => Err(self.unclear("the response has no status".to_owned())),
            };
        }
        self.verdict(answer)
    }

    fn verdict(&self, answer: Result<Verdict<'_>, CallError>) -> Result<Offer, VersionError> {
        match answer {
            Ok(Verdict::Success(_)) => Ok(Offer::Yes),
            Ok(Verdict::ProgramMismatch { low, high }) if low == high => {
                Ok(Offer::No(format!("offers only NFS version {low}")))
            }
            Ok(Verdict::ProgramMismatch { low, high }) => {
                Ok(Offer::No(format!("offers only NFS versions {low} to {high}")))
            }
            Ok(Verdict::ProgramUnavailable) => Ok(Offer::No("does not offer NFS on this port".to_owned())),
            Ok(verdict) => Err(self.unclear(format!("the server answers {verdict:?}"))),
            Err(CallError::Answer(problem)) => Err(self.unclear(problem)),
            Err(CallError::Connection(source)) => Err(self.lost(source)),
        }
    }

    fn connect(&self, tls: Option<&Arc<Tls>>, limit: Limit) -> io::Result<SequentialCalls> {
        SequentialCalls::connect(self.address, self.reserved_port, tls, limit)
    }

    fn lost(&self, source: io::Error) -> VersionError {
        VersionError::Connection { address: self.address, source }
    }

    fn unclear(&self, problem: String) -> VersionError {
        VersionError::Answer { address: self.address, problem }
    }
}
