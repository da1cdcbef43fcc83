//! Errors of the operating system, as causes of failed operations.

use std::io::{self, ErrorKind};

use plimsoll_client::operation::Cause;
use rustix::io::Errno;

/// The cause of a failed operation, from an error of the operating system.
pub(super) fn cause_of(error: &io::Error) -> Cause {
    match error.kind() {
        ErrorKind::ConnectionRefused => Cause::ConnectionRefused,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Cause::ConnectionReset,
        ErrorKind::UnexpectedEof | ErrorKind::NotConnected => Cause::ConnectionClosed,
        ErrorKind::TimedOut => Cause::TimedOut,
        // What RPC over TLS says of a server that does not offer it, or cannot be believed.
        ErrorKind::Unsupported if error.raw_os_error().is_none() => Cause::NotOffered,
        ErrorKind::InvalidData => Cause::Untrusted,
        ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::PermissionDenied
        | ErrorKind::InvalidInput => Cause::Unreachable,
        // No local port is left.
        ErrorKind::AddrNotAvailable | ErrorKind::AddrInUse | ErrorKind::OutOfMemory => Cause::OutOfResources,
        // These have no kind in common.
        _ => match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Cause::OutOfResources,
            _ => Cause::RefusedBySystem,
        },
    }
}
