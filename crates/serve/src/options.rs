//! What server to start.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;

use crate::ServeError;

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SMB 2 and 3 on one TCP port, without NetBIOS.
    Smb,
    /// NFS 3, 4.1 and 4.2, with MOUNT and a separate portmapper, all on one TCP port.
    Nfs,
}

/// How.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where; port 0 lets the system choose. 127.0.0.1:0 by default.
    pub listen: SocketAddr,
    /// Whether the address may be reachable from other machines.
    pub allow_remote: bool,
    /// The account for logons (SMB). Without one, all clients may log on, but only anonymously.
    pub account: Option<Account>,
    /// The name of the share or export, without a slash.
    pub share: String,
    /// Threads that serve. By default as many as there are cores.
    pub threads: NonZeroUsize,
    /// Memory that files and directories may take, bytes. 4 GiB by default; taken when written.
    pub size: u64,
    /// Whether nothing may be changed.
    pub read_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            allow_remote: false,
            account: None,
            share: "plimsoll".to_owned(),
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            size: 4 << 30,
            read_only: false,
        }
    }
}

/// A user and a password.
#[derive(Clone)]
pub struct Account {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Account {
    /// This user with this password.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: user.into(), password: password.into() }
    }

    /// A user with a random password, which only [`crate::Embedded::target`] reveals.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn random() -> Result<Self, ServeError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| ServeError::Random(error.to_string()))?;
        let password = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { user: "plimsoll".to_owned(), password })
    }

    /// The user's name.
    pub fn user(&self) -> &str {
        &self.user
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Options {
    /// Checks that need no attempt.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), ServeError> {
        let remote = !self.listen.ip().is_loopback();
        let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        match kind {
            _ if remote && !self.allow_remote => Err(ServeError::Remote(self.listen)),
            _ if self.share.is_empty() || self.share.len() > 80 || !self.share.bytes().all(named) => {
                Err(ServeError::Name(self.share.clone()))
            }
            Kind::Nfs if self.account.is_some() => Err(ServeError::NoPasswords),
            Kind::Smb if remote && self.account.is_none() => Err(ServeError::NeedsAccount),
            Kind::Smb | Kind::Nfs => Ok(()),
        }
    }
}
