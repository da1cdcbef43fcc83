//! Writes the socket traffic as a capture file, with the client's times.
//!
//! The packets are synthetic: each connection gets a handshake, sequence numbers and an end, so that capture readers can follow it. Sent
//! bytes have the time just before the system call that sent them, received bytes the time just after the call that returned them: the
//! same times as in transactions. Bytes that the kernel dropped become packets of the right lengths, cut after their headers. TCP
//! checksums are left out (0). Packets of different worker threads may be slightly out of order; those of a connection are not.

mod packet;
mod pcapng;

use std::fs::File;
use std::io::{self, BufWriter, IoSlice, Write};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::packet::{Flags, HEADERS, LARGEST, Packet};

/// Held back before it is written, bytes.
const BUFFER: usize = 1 << 20;
/// From the first sequence number of a connection to that of the next one: 2^32 over the golden ratio, which keeps any few consecutive
/// ones far apart.
const APART: u32 = 0x9E37_79B1;

/// A capture file that a run's connections write to.
pub struct Tap {
    file: Mutex<Output>,
}

struct Output {
    file: BufWriter<File>,
    /// Connections so far.
    opened: u32,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

/// A connection in a capture file.
#[derive(Debug)]
pub struct Stream {
    client: SocketAddr,
    server: SocketAddr,
    /// The sequence numbers that come next.
    from_client: u32,
    from_server: u32,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client closed it.
    ByClient,
    /// The server closed it.
    ByServer,
    /// The server reset it.
    Reset,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap").finish_non_exhaustive()
    }
}

impl Tap {
    /// Begins a capture in an empty file, which only its owner may read: it contains logons, from which weak passwords can be guessed,
    /// and file contents.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: File) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(BUFFER, file);
        pcapng::begin(&mut file)?;
        Ok(Self { file: Mutex::new(Output { file, opened: 0, error: None }) })
    }

    /// A connection was made.
    pub fn opened(&self, at: i64, client: SocketAddr, server: SocketAddr) -> Stream {
        let mut output = self.lock();
        let first = output.opened.wrapping_mul(APART);
        output.opened = output.opened.wrapping_add(1);
        let mut stream = Stream { client, server, from_client: first, from_server: first };
        output.write(&stream.of_client(Flags::SYN), at, &[], 0);
        stream.from_client = first.wrapping_add(1);
        output.write(&stream.of_server(Flags::SYN_ACK), at, &[], 0);
        stream.from_server = first.wrapping_add(1);
        output.write(&stream.of_client(Flags::ACK), at, &[], 0);
        stream
    }

    /// The first `count` bytes of `slices` were sent. Cold, because most runs have no tap.
    #[cold]
    pub fn sent(&self, stream: &mut Stream, at: i64, slices: &[IoSlice<'_>], count: usize) {
        let mut output = self.lock();
        let mut left = count;
        let mut pieces: Vec<&[u8]> = Vec::with_capacity(slices.len());
        let mut room = LARGEST;
        for slice in slices {
            let mut slice = slice.get(..left.min(slice.len())).unwrap_or_default();
            left -= slice.len();
            while !slice.is_empty() {
                let (piece, rest) = slice.split_at(room.min(slice.len()));
                pieces.push(piece);
                (slice, room) = (rest, room - piece.len());
                if room == 0 {
                    output.segment(stream, at, &mut pieces, LARGEST);
                    room = LARGEST;
                }
            }
        }
        if room < LARGEST {
            output.segment(stream, at, &mut pieces, LARGEST - room);
        }
    }

    /// Bytes were received: `kept`, followed by `dropped` bytes that were not read. Cold, because most runs have no tap.
    #[cold]
    pub fn received(&self, stream: &mut Stream, at: i64, kept: &[u8], dropped: usize) {
        let mut output = self.lock();
        for piece in kept.chunks(LARGEST) {
            output.write(&stream.of_server(Flags::DATA), at, &[piece], piece.len());
            stream.from_server = stream.from_server.wrapping_add(piece.len() as u32);
        }
        let mut left = dropped;
        while left > 0 {
            let length = left.min(LARGEST);
            output.write(&stream.of_server(Flags::DATA), at, &[], length);
            stream.from_server = stream.from_server.wrapping_add(length as u32);
            left -= length;
        }
    }

    /// A connection ended.
    pub fn closed(&self, stream: Stream, at: i64, ended: Ended) {
        let mut output = self.lock();
        let mut stream = stream;
        match ended {
            Ended::ByClient => {
                output.write(&stream.of_client(Flags::FIN), at, &[], 0);
                stream.from_client = stream.from_client.wrapping_add(1);
                output.write(&stream.of_server(Flags::FIN), at, &[], 0);
            }
            Ended::ByServer => {
                output.write(&stream.of_server(Flags::FIN), at, &[], 0);
                stream.from_server = stream.from_server.wrapping_add(1);
                output.write(&stream.of_client(Flags::FIN), at, &[], 0);
            }
            Ended::Reset => output.write(&stream.of_server(Flags::RESET), at, &[], 0),
        }
    }

    /// Writes the buffered packets, and returns the first error.
    ///
    /// # Errors
    /// A write failed: the file is incomplete.
    pub fn finish(&self) -> io::Result<()> {
        let mut output = self.lock();
        match output.error.take() {
            Some(error) => Err(error),
            None => output.file.flush(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Output> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn of_client(&self, flags: Flags) -> Packet {
        let (sequence, acknowledged) = (self.from_client, self.from_server);
        Packet { from: self.client, to: self.server, sequence, acknowledged, flags }
    }

    fn of_server(&self, flags: Flags) -> Packet {
        let (sequence, acknowledged) = (self.from_server, self.from_client);
        Packet { from: self.server, to: self.client, sequence, acknowledged, flags }
    }
}

impl Output {
    /// A segment of the client's, of `length` bytes in `pieces`, which are taken.
    fn segment(&mut self, stream: &mut Stream, at: i64, pieces: &mut Vec<&[u8]>, length: usize) {
        self.write(&stream.of_client(Flags::DATA), at, pieces, length);
        stream.from_client = stream.from_client.wrapping_add(length as u32);
        pieces.clear();
    }

    /// A packet with `length` bytes of data, of which the file gets those in `pieces`.
    fn write(&mut self, packet: &Packet, at: i64, pieces: &[&[u8]], length: usize) {
        if self.error.is_some() {
            return;
        }
        let mut headers = [0; HEADERS];
        let headers = packet.headers(length, &mut headers);
        if let Err(error) = pcapng::packet(&mut self.file, at, headers, pieces, length) {
            self.error = Some(error);
        }
    }
}

#[cfg(test)]
mod tests;
