//! TCP connections: segments with their sequence numbers kept right.

use std::net::SocketAddr;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that opened the connection.
    Client = 0,
    /// The other end.
    Server = 1,
}

impl Side {
    /// The other end.
    pub fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// FIN.
const FIN: u8 = 0x01;
/// SYN.
const SYN: u8 = 0x02;
/// RST.
const RST: u8 = 0x04;
/// ACK.
const ACK: u8 = 0x10;

/// A TCP segment: send it with [`crate::Traffic::tcp`] now, later, twice or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags, as in the header.
    pub flags: u8,
    /// Window, as in the header.
    pub window: u16,
    /// Carries the timestamps option, which makes the header 32 bytes long.
    pub timestamps: bool,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Segment {
    /// Header and payload.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let words: u8 = if self.timestamps { 8 } else { 5 };
        let mut header = [0; 20];
        header[..2].copy_from_slice(&self.source.port().to_be_bytes());
        header[2..4].copy_from_slice(&self.destination.port().to_be_bytes());
        header[4..8].copy_from_slice(&self.seq.to_be_bytes());
        header[8..12].copy_from_slice(&self.ack.to_be_bytes());
        header[12..16].copy_from_slice(&[words << 4, self.flags, (self.window >> 8) as u8, self.window as u8]);
        let options: &[u8] = if self.timestamps { &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1] } else { &[] };
        [&header, options, &self.payload].concat()
    }
}

/// A TCP connection. Its segments acknowledge all that the other side has sent before.
#[derive(Clone, Debug)]
pub struct Tcp {
    ends: [SocketAddr; 2],
    next: [u32; 2],
    timestamps: bool,
}

impl Tcp {
    /// A connection whose first segments will have the sequence numbers 1,000 (client) and 2,000 (server).
    pub fn new(client: SocketAddr, server: SocketAddr) -> Self {
        Self { ends: [client, server], next: [1_000, 2_000], timestamps: false }
    }

    /// A connection of 10.0.0.1 to 10.0.0.2, from and to these ports.
    pub fn between_ports(client: u16, server: u16) -> Self {
        Self::new(([10, 0, 0, 1], client).into(), ([10, 0, 0, 2], server).into())
    }

    /// Sets the next sequence numbers.
    pub fn starting_at(mut self, client: u32, server: u32) -> Self {
        self.next = [client, server];
        self
    }

    /// Lets every segment carry the timestamps option.
    pub fn with_timestamps(mut self) -> Self {
        self.timestamps = true;
        self
    }

    /// SYN, SYN+ACK and ACK.
    pub fn handshake(&mut self) -> [Segment; 3] {
        let mut syn = self.make(Side::Client, SYN, &[]);
        syn.ack = 0;
        self.next[0] = self.next[0].wrapping_add(1);
        let answer = self.make(Side::Server, SYN | ACK, &[]);
        self.next[1] = self.next[1].wrapping_add(1);
        [syn, answer, self.ack(Side::Client)]
    }

    /// The next bytes from a side, as one segment.
    pub fn data(&mut self, from: Side, payload: &[u8]) -> Segment {
        let segment = self.make(from, ACK, payload);
        let at = from as usize;
        self.next[at] = self.next[at].wrapping_add(payload.len() as u32);
        segment
    }

    /// The next bytes from a side, in segments of at most `most` bytes.
    pub fn split(&mut self, from: Side, payload: &[u8], most: usize) -> Vec<Segment> {
        payload.chunks(most.max(1)).map(|piece| self.data(from, piece)).collect()
    }

    /// An acknowledgement without data.
    pub fn ack(&self, from: Side) -> Segment {
        self.make(from, ACK, &[])
    }

    /// The end of a side's stream.
    pub fn fin(&mut self, from: Side) -> Segment {
        let segment = self.make(from, FIN | ACK, &[]);
        let at = from as usize;
        self.next[at] = self.next[at].wrapping_add(1);
        segment
    }

    /// A side breaks the connection off.
    pub fn rst(&self, from: Side) -> Segment {
        self.make(from, RST | ACK, &[])
    }

    /// The next sequence number of a side.
    pub fn next_seq(&self, from: Side) -> u32 {
        self.next[from as usize]
    }

    fn make(&self, from: Side, flags: u8, payload: &[u8]) -> Segment {
        let (from, to) = (from as usize, from.other() as usize);
        Segment {
            source: self.ends[from],
            destination: self.ends[to],
            seq: self.next[from],
            ack: self.next[to],
            flags,
            timestamps: self.timestamps,
            window: 0xffff,
            payload: payload.to_vec(),
        }
    }
}
