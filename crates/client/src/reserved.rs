//! Source ports below 1024. Only root may use them, so NFS servers take them as a sign that the caller is a system, not a user: by
//! default, Linux' server refuses all other ports.
//!
//! Spec: exports(5), `secure`; RFC 2623 2.1

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_reuseaddr, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, getpeername, socket_with};

/// How many there are, and so how many connections to one server at a time.
pub const PORTS: u16 = 1023;
/// The port to try first: ports of recently closed connections stay in use for a minute (TIME_WAIT).
static TURN: AtomicU16 = AtomicU16::new(0);

/// Begins to connect from one that is free. `socket` makes a new socket of that family.
///
/// # Errors
/// No such port is free, or this program may not use one.
pub fn begin(to: &SocketAddr, socket: impl Fn(AddressFamily) -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    for _ in 0..PORTS {
        // From above, as usual: services that start meanwhile listen on lower ports.
        let port = PORTS - next_turn();
        let (family, from): (_, SocketAddr) = match to {
            SocketAddr::V4(_) => (AddressFamily::INET, (Ipv4Addr::UNSPECIFIED, port).into()),
            SocketAddr::V6(_) => (AddressFamily::INET6, (Ipv6Addr::UNSPECIFIED, port).into()),
        };
        let socket = socket(family)?;
        // What connects elsewhere from this port, or is just over, does not mind; a service that listens on it does.
        set_socket_reuseaddr(&socket, true)?;
        match bind(&socket, &from) {
            Ok(()) => {}
            Err(Errno::ADDRINUSE) => continue,
            Err(Errno::ACCESS) => return Err(not_allowed()),
            Err(error) => return Err(error.into()),
        }
        match connect(&socket, to) {
            Ok(()) | Err(Errno::INPROGRESS) => return Ok(socket),
            Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(
        ErrorKind::AddrNotAvailable,
        format!(
            "all {PORTS} source ports below 1024 are in use: use fewer connections, or wait (a port is free one minute after its connection ends)"
        ),
    ))
}

/// The next one, from 0 to `PORTS` - 1. Counts in that range, because 65,536 is not a multiple of it.
fn next_turn() -> u16 {
    TURN.update(Relaxed, Relaxed, |turn| (turn + 1) % PORTS)
}

fn not_allowed() -> io::Error {
    let problem = "source ports below 1024 (resvport) need root or CAP_NET_BIND_SERVICE";
    io::Error::new(ErrorKind::PermissionDenied, problem)
}

/// Connects, and waits for it.
///
/// # Errors
/// As [`begin`]; the connection could not be made.
pub fn connected(to: &SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let socket = begin(to, |family| {
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // Connecting is sending, to the kernel (socket(7)).
        set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
        Ok(socket)
    })?;
    match getpeername(&socket) {
        Ok(_) => Ok(TcpStream::from(socket)),
        Err(Errno::NOTCONN) => Err(ErrorKind::TimedOut.into()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::TcpListener;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn connections_have_a_port_each_until_there_is_none_left() {
        if !rustix::process::geteuid().is_root() {
            plimsoll_testkit::skip("needs root, to use ports below 1024");
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let mut open = Vec::new();
        let mut ports = BTreeSet::new();
        let last = loop {
            match connected(&to, PATIENCE) {
                Ok(stream) => {
                    assert!(ports.insert(stream.local_addr().unwrap().port()), "a port twice");
                    open.push((stream, listener.accept().unwrap()));
                }
                Err(error) => break error,
            }
        };
        assert!(ports.iter().all(|port| (1..1024).contains(port)));
        // Services listen on some ports.
        assert!(ports.len() > 800, "{}", ports.len());
        assert_eq!(last.kind(), ErrorKind::AddrNotAvailable);
        assert!(last.to_string().contains("1023"), "{last}");
        // For another destination all ports are free.
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(connected(&other.local_addr().unwrap(), PATIENCE).is_ok());
        drop(other);
        let nobody = TcpListener::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).unwrap();
        assert_eq!(connected(&nobody, PATIENCE).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }

    #[test]
    fn whoever_may_not_use_them_is_told() {
        assert_eq!(not_allowed().kind(), ErrorKind::PermissionDenied);
        assert!(not_allowed().to_string().contains("CAP_NET_BIND_SERVICE"));
        if !rustix::process::geteuid().is_root() {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let error = connected(&listener.local_addr().unwrap(), PATIENCE).unwrap_err();
            assert_eq!(error.to_string(), not_allowed().to_string());
        }
    }
}
