//! Why a server did not start.

use std::io;
use std::net::SocketAddr;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines could connect, and this was not allowed explicitly.
    #[error(
        "other machines can reach {0}, but this server is only for tests: listen on 127.0.0.1, or allow other machines (--allow-remote)"
    )]
    Remote(SocketAddr),
    /// The NFS server takes every caller as it is.
    #[error("an NFS server has no users and no passwords: remove --user and --password-file")]
    NoPasswords,
    /// Any client that can connect could read and write.
    #[error("an SMB server that other machines can reach needs a user and a password (--user, --password-file)")]
    NeedsAccount,
    /// A name that clients could not ask for.
    #[error("{0:?} cannot be the name of a share: use 1 to 80 letters, digits, `-`, `_` or `.`")]
    Name(String),
    /// A user name that the protocol reserves.
    #[error("{0:?} cannot be a user name: the name is empty or reserved; choose another name")]
    User(String),
    /// Not even the root directory fits.
    #[error("{0} bytes are too few for a file system: increase the size (--size)")]
    Size(u64),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}{hint}", hint = of_listening(source))]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The system gave no threads.
    #[error("cannot start the server's threads: {0}")]
    Threads(io::Error),
    /// The system gave no random bytes for a password.
    #[error("cannot get random bytes from the operating system: {0}")]
    Random(String),
}

/// Advice for a server that cannot listen.
fn of_listening(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "; use --listen 127.0.0.1:0, which picks a free port",
        io::ErrorKind::AddrNotAvailable => "; give an address of this machine",
        io::ErrorKind::PermissionDenied => "; use a port of 1024 or above",
        _ => "",
    }
}
