//! A list of frames under construction.

use std::net::SocketAddr;

use crate::frame::{Frame, Link};
use crate::tcp::{Segment, Side, Tcp};
use crate::{frame, ip};

/// Protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Frames under construction. Each frame comes [`Traffic::step_ns`] after the previous one.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The link layer of all frames.
    pub link: Link,
    /// VLAN tags of the frames to come, outermost first.
    pub vlans: Vec<u16>,
    /// Bytes kept of the frames to come.
    pub snaplen: usize,
    /// Time of the next frame, ns since the Unix epoch.
    pub time_ns: i64,
    /// Time from one frame to the next, ns.
    pub step_ns: i64,
    /// The frames so far.
    pub frames: Vec<Frame>,
    ip_id: u32,
}

impl Default for Traffic {
    fn default() -> Self {
        Self::new(Link::Ethernet)
    }
}

impl Traffic {
    /// Nothing yet. The clock stands at 1,000,000,000 s and goes on by 100 µs a frame.
    pub fn new(link: Link) -> Self {
        Self {
            link,
            vlans: Vec::new(),
            snaplen: usize::MAX,
            time_ns: 1_000_000_000_000_000_000,
            step_ns: 100_000,
            frames: Vec::new(),
            ip_id: 1,
        }
    }

    /// Sends an IP payload, in fragments of at most `piece` bytes (a multiple of 8) where it is given.
    pub fn ip(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        protocol: u8,
        payload: &[u8],
        piece: Option<usize>,
    ) {
        let piece = piece.unwrap_or(ip::UNFRAGMENTED);
        self.ip_id = self.ip_id.wrapping_add(1);
        let before = self.link.header(source.is_ipv6(), &self.vlans);
        for packet in ip::packets(&before, source.ip(), destination.ip(), protocol, self.ip_id, payload, piece) {
            self.frame(packet);
        }
    }

    /// Sends a frame as it stands.
    pub fn frame(&mut self, mut bytes: Vec<u8>) {
        let original_len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        bytes.truncate(self.snaplen);
        self.frames.push(Frame { time_ns: self.time_ns, bytes, original_len });
        self.time_ns += self.step_ns;
    }

    /// Sends a UDP datagram, in IP fragments of at most `piece` bytes (a multiple of 8) where it is given.
    pub fn udp(&mut self, source: SocketAddr, destination: SocketAddr, payload: &[u8], piece: Option<usize>) {
        let mut header = [0; 8];
        header[..2].copy_from_slice(&source.port().to_be_bytes());
        header[2..4].copy_from_slice(&destination.port().to_be_bytes());
        header[4..6].copy_from_slice(&u16::try_from(8 + payload.len()).unwrap_or(0).to_be_bytes());
        let bytes = [&header, payload].concat();
        self.ip(source, destination, UDP, &bytes, piece);
    }

    /// Sends a TCP segment.
    pub fn tcp(&mut self, segment: &Segment) {
        self.ip(segment.source, segment.destination, TCP, &segment.bytes(), None);
    }

    /// Sends TCP segments in this order.
    pub fn all<'s>(&mut self, segments: impl IntoIterator<Item = &'s Segment>) {
        segments.into_iter().for_each(|segment| self.tcp(segment));
    }

    /// Sends the next bytes of a connection, in segments of at most 1,448 bytes.
    pub fn send(&mut self, connection: &mut Tcp, from: Side, bytes: &[u8]) {
        self.all(&connection.split(from, bytes, 1_448));
    }

    /// Sends a request of the client, and then the server's answer.
    pub fn exchange(&mut self, connection: &mut Tcp, request: &[u8], answer: &[u8]) {
        self.send(connection, Side::Client, request);
        self.send(connection, Side::Server, answer);
    }

    /// A little-endian pcap file with times in nanoseconds.
    pub fn pcap(&self) -> Vec<u8> {
        frame::pcap(self.link, &self.frames)
    }
}
