//! Sends prepared packets through an interface again and again, at a steady rate: much traffic for little processor time.
//!
//! Each pass has other client ports, so its connections are new ones. Nobody answers: the packets are for another machine's address.
//!
//! Spec: packet(7), sendmmsg(2)

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Packets for one system call.
const TOGETHER: usize = 64;
/// Between two looks at the clock where nothing is due.
const LOOK: Duration = Duration::from_micros(250);
/// Ports that clients get: none that a server has.
const PORTS: std::ops::Range<u32> = 3_000..65_000;
/// Between the ports of a connection in two passes. It has no divisor in common with their number.
const STRIDE: u32 = 97;
/// Places of the ports behind Ethernet and a header of IPv4 or IPv6 without options, by type of Ethernet.
const PORTS_AT: [(u16, usize); 2] = [(0x0800, 34), (0x86dd, 54)];

/// Packets that are sent, one after the other.
#[derive(Debug)]
pub struct Replay {
    /// Where a packet is in `bytes`, and where in it the client's port is, with its first value.
    packets: Vec<(std::ops::Range<usize>, usize, u16)>,
    bytes: Vec<u8>,
    pass: u32,
    next: usize,
}

impl Replay {
    /// Packets with Ethernet headers; those are left out that are not TCP or UDP over IP to or from one of these ports.
    #[must_use]
    pub fn new<'a>(frames: impl IntoIterator<Item = &'a [u8]>, server_ports: &[u16]) -> Self {
        let mut replay = Self { packets: Vec::new(), bytes: Vec::new(), pass: 0, next: 0 };
        for frame in frames {
            let Some((place, port)) = client_port(frame, server_ports) else { continue };
            let start = replay.bytes.len();
            replay.bytes.extend_from_slice(frame);
            // A unicast address that is not the interface's: its machine leaves the packet alone.
            replay.bytes[start..start + 6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
            replay.packets.push((start..start + frame.len(), start + place, port));
        }
        replay
    }

    /// Packets in a pass.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Mean length of a packet, bytes.
    #[must_use]
    pub fn mean_length(&self) -> usize {
        self.bytes.len() / self.packets.len().max(1)
    }

    /// Sends so many packets per second for some time, through an interface of the namespace that this thread is in. Returns how many
    /// were sent, and how long it took; `look` is called every now and then with the number so far.
    ///
    /// # Errors
    /// There is no such interface, or no right to send packets.
    pub fn send(
        &mut self,
        interface: &str,
        (per_second, most): (u64, u64),
        mut look: impl FnMut(u64),
    ) -> io::Result<(u64, Duration)> {
        let socket = open(interface)?;
        let (begun, mut sent) = (Instant::now(), 0);
        while sent < most {
            let due = (begun.elapsed().as_micros() * u128::from(per_second) / 1_000_000) as u64;
            if due.min(most) <= sent || (due - sent < TOGETHER as u64 && due < most) {
                std::thread::sleep(LOOK);
                continue;
            }
            sent += self.send_some(&socket, (most - sent).min(TOGETHER as u64) as usize)? as u64;
            look(sent);
        }
        Ok((sent, begun.elapsed()))
    }

    /// Sends up to so many packets, all of one pass.
    fn send_some(&mut self, socket: &OwnedFd, most: usize) -> io::Result<usize> {
        let end = (self.next + most.min(TOGETHER)).min(self.packets.len());
        let count = end - self.next;
        for (_, place, port) in &self.packets[self.next..end] {
            let moved = (u32::from(*port) + self.pass * STRIDE) % (PORTS.end - PORTS.start) + PORTS.start;
            self.bytes[*place..place + 2].copy_from_slice(&(moved as u16).to_be_bytes());
        }
        // SAFETY: structures of numbers and pointers, of which 0 is one.
        let mut pieces: [libc::iovec; TOGETHER] = unsafe { std::mem::zeroed() };
        // SAFETY: as before.
        let mut messages: [libc::mmsghdr; TOGETHER] = unsafe { std::mem::zeroed() };
        for (at, (range, ..)) in self.packets[self.next..end].iter().enumerate() {
            pieces[at] = libc::iovec { iov_base: self.bytes[range.clone()].as_mut_ptr().cast(), iov_len: range.len() };
            (messages[at].msg_hdr.msg_iov, messages[at].msg_hdr.msg_iovlen) = (&raw mut pieces[at], 1);
        }
        // SAFETY: `count` messages, each with one piece of `bytes`; all of them outlive the call.
        let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count as u32, 0) };
        let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
        self.next += sent;
        if self.next == self.packets.len() {
            (self.next, self.pass) = (0, self.pass + 1);
        }
        Ok(sent)
    }
}

/// Where the client's port is in a packet, and its value.
fn client_port(frame: &[u8], server_ports: &[u16]) -> Option<(usize, u16)> {
    let number = |at: usize| frame.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let kind = number(12)?;
    let (_, at) = PORTS_AT.into_iter().find(|(of, _)| *of == kind)?;
    let (from, to) = (number(at)?, number(at + 2)?);
    match (server_ports.contains(&from), server_ports.contains(&to)) {
        (true, false) => Some((at + 2, to)),
        (false, true) => Some((at, from)),
        _ => None,
    }
}

/// A socket that sends packets with their headers through this interface.
fn open(interface: &str) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers alone. Without a protocol nothing is received.
    let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else has.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: a structure of numbers, of which 0 is one.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: a string that ends with 0.
    address.sll_ifindex = unsafe { libc::if_nametoindex(name.as_ptr()) } as c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` has so many bytes, and outlives the call.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if bound == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}
