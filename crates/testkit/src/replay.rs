//! Sends prepared packets through an interface again and again, at a steady rate: much traffic for little processor time.
//!
//! Each pass has other client ports, so its connections are new ones. At its end the clients reset them, as the capture may end earlier
//! than they do. Nobody answers: the packets are for another machine's address.
//!
//! Spec: packet(7), sendmmsg(2)

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Packets for one system call.
const TOGETHER: usize = 64;
/// Between two looks at the clock where nothing is due.
const CHECK_INTERVAL: Duration = Duration::from_micros(250);
/// Ports that clients get: none that a server has.
const PORTS: std::ops::Range<u32> = 3_000..65_000;
/// Between the ports of a connection in two passes. It has no divisor in common with their number.
const STRIDE: u32 = 97;
/// Places of the ports behind Ethernet and a header of IPv4 or IPv6 without options, by type of Ethernet.
const PORTS_AT: [(u16, usize); 2] = [IPV4, IPV6];
const IPV4: (u16, usize) = (0x0800, 34);
const IPV6: (u16, usize) = (0x86dd, 54);

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
        replay.reset_at_end();
        replay
    }

    /// Appends a reset of each TCP connection, after the last packet of its client.
    fn reset_at_end(&mut self) {
        let mut last = BTreeMap::new();
        for (range, place, port) in &self.packets {
            let frame = &self.bytes[range.clone()];
            let place = place - range.start;
            if let Some(reset) = reset(frame, place) {
                // The server's address and port, and the client's.
                last.insert((reset[IPV4.1 - 8..place + 4].to_vec(), *port), (reset, place));
            }
        }
        for ((_, port), (frame, place)) in last {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&frame);
            self.packets.push((start..start + frame.len(), start + place, port));
        }
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
                std::thread::sleep(CHECK_INTERVAL);
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

/// The packet with which a client resets its connection after this one, where `place` is its port; `None` for packets of servers and UDP.
fn reset(frame: &[u8], place: usize) -> Option<Vec<u8>> {
    let is_v4 = frame.get(12..14) == Some(&IPV4.0.to_be_bytes());
    let (_, tcp) = if is_v4 { IPV4 } else { IPV6 };
    let protocol = frame.get(if is_v4 { 23 } else { 20 })?;
    let mut reset = frame.get(..tcp + 20)?.to_vec();
    if place != tcp || i32::from(*protocol) != libc::IPPROTO_TCP {
        return None;
    }
    let header = usize::from(frame[tcp + 12] >> 4) * 4;
    let number = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let sent = if is_v4 {
        usize::from(number(16)).checked_sub(20 + header)?
    } else {
        usize::from(number(18)).checked_sub(header)?
    };
    let sequence = u32::from_be_bytes(frame[tcp + 4..tcp + 8].try_into().ok()?).wrapping_add(sent as u32);
    reset[tcp + 4..tcp + 8].copy_from_slice(&sequence.to_be_bytes());
    // A header of 20 bytes; RST and ACK.
    reset[tcp + 12..tcp + 14].copy_from_slice(&[5 << 4, 0b1_0100]);
    let (at, length) = if is_v4 { (16, 40_u16) } else { (18, 20) };
    reset[at..at + 2].copy_from_slice(&length.to_be_bytes());
    Some(reset)
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
