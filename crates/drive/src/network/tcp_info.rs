//! The kernel's round-trip times of a connection, which rustix does not offer.
//!
//! Spec: Linux include/uapi/linux/tcp.h, `struct tcp_info` (`tcpi_rtt`, `tcpi_min_rtt`, µs); tcp(7), TCP_INFO

use std::mem::{offset_of, size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};

use super::RoundTrip;

/// Bytes that a kernel must have written for the least round trip to be among them (Linux 4.6).
const ENOUGH: usize = offset_of!(libc::tcp_info, tcpi_min_rtt) + size_of::<u32>();

/// The round trips of a connection, as its kernel measured them; `None` where it has measured none, or does not tell.
pub(super) fn round_trip(socket: &OwnedFd) -> Option<RoundTrip> {
    // SAFETY: all zeros is a valid `tcp_info`, which is numbers only.
    let mut info: libc::tcp_info = unsafe { zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the pointers are to `info` and its length, which outlive the call, and the kernel writes at most that length.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length)
    };
    let told = result == 0 && length as usize >= ENOUGH;
    // All ones: no sample yet.
    let measured = told && info.tcpi_rtt > 0 && (1..u32::MAX).contains(&info.tcpi_min_rtt);
    let ns = |us: u32| u64::from(us) * 1_000;
    measured.then(|| RoundTrip { least_ns: ns(info.tcpi_min_rtt), smoothed_ns: ns(info.tcpi_rtt) })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_has_a_round_trip_and_a_listener_has_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // The handshake was one.
        let found = round_trip(&stream.into()).unwrap();
        assert!(found.least_ns > 0 && found.least_ns < 10_000_000_000, "{found:?}");
        assert_eq!(round_trip(&listener.into()), None);
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(round_trip(&file.into()), None, "no socket at all");
    }
}
