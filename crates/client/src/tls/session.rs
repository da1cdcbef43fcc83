//! One connection: what is received goes in, what is to be sent comes out.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;

use plimsoll_wire::rpc::{StartTls, start_tls};
use rustls::{CipherSuite, ClientConnection};

use super::{Tls, VersionNotOffered, broken};
use crate::buffer_memory::BufferMemory;

/// The xid of the question, which is the connection's first call.
const XID: u32 = 0x506C_696D;
/// Data in a record, at most (RFC 8446 5.1).
const RECORD: usize = 16 << 10;
/// Data that is encrypted before it is sent, at most: bounds memory, and the time until the first record goes.
const AHEAD: usize = 256 << 10;
/// Bytes of memory that an idle connection keeps for sent data, and for received data.
const KEPT: usize = 4 << 10;
/// The same of a connection that always has more: all that it encrypts ahead, with the overhead of the records.
const KEPT_BUSY: usize = AHEAD + (32 << 10);

/// TLS on one connection.
#[derive(Debug)]
pub struct TlsSession {
    pub(super) tls: Arc<Tls>,
    stage: Stage,
    connection: Box<ClientConnection>,
    /// Bytes to send, from `sent` on.
    cipher: Vec<u8>,
    cipher_memory: BufferMemory,
    sent: usize,
    /// For each record of data in `cipher`: where it ends, and how many bytes of data it has.
    records: VecDeque<(usize, usize)>,
    /// Data that is encrypted and not all sent: it is offered again, and must not be encrypted again.
    ahead: usize,
    /// Received data for which the caller had no room, from `taken` on.
    plain: Vec<u8>,
    plain_memory: BufferMemory,
    taken: usize,
    /// The server has said that it sends nothing more.
    closed: bool,
}

#[derive(Debug)]
enum Stage {
    /// The server was asked whether it speaks TLS: its answer so far.
    Asked(Vec<u8>),
    Handshake,
    Up,
}

impl TlsSession {
    /// A connection that was just made.
    ///
    /// # Errors
    /// The library refuses the configuration.
    pub fn new(tls: &Arc<Tls>) -> io::Result<Self> {
        let connection = ClientConnection::new(Arc::clone(&tls.config), tls.name.clone()).map_err(broken)?;
        let (program, version) = tls.program;
        Ok(Self {
            tls: Arc::clone(tls),
            stage: Stage::Asked(Vec::new()),
            connection: Box::new(connection),
            cipher: start_tls(XID, program, version),
            cipher_memory: BufferMemory::default(),
            sent: 0,
            records: VecDeque::new(),
            ahead: 0,
            plain: Vec::new(),
            plain_memory: BufferMemory::default(),
            taken: 0,
            closed: false,
        })
    }

    /// Whether the handshake is over, so that data may be sent.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Up)
    }

    /// Takes received bytes, and puts the data in them into `room`; returns its length. Data that does not fit waits for
    /// [`Self::read`]. While data waits, `room` gets none.
    ///
    /// # Errors
    /// The server does not speak TLS, its certificate is not believed, or its bytes make no sense: the connection is over.
    pub fn received(&mut self, mut bytes: &[u8], room: &mut [u8]) -> io::Result<usize> {
        if let Stage::Asked(answer) = &mut self.stage {
            answer.extend_from_slice(bytes);
            if is_yes(answer)? {
                self.stage = Stage::Handshake;
                self.collect()?;
            }
            return Ok(0);
        }
        let mut filled = 0;
        while !bytes.is_empty() && !self.closed {
            self.connection.read_tls(&mut bytes)?;
            let read = self.connection.process_new_packets();
            // An alert tells the server why, if the caller sends it.
            self.collect()?;
            let state = read.map_err(|error| broken(problem(&error)))?;
            self.closed |= state.peer_has_closed();
            let free = room.get_mut(filled..).unwrap_or_default();
            filled += self.take_plain(state.plaintext_bytes_to_read(), free)?;
        }
        if matches!(self.stage, Stage::Handshake) && !self.connection.is_handshaking() {
            self.stage = Stage::Up;
            let cipher =
                self.connection.negotiated_cipher_suite().map_or("unknown cipher", |suite| name(suite.suite()));
            self.tls.agreed.get_or_init(|| format!("RPC over TLS 1.3, {cipher}"));
        }
        Ok(filled)
    }

    /// Moves decrypted data into `room`, and the rest to where it waits for the caller. Returns how much is in `room`.
    fn take_plain(&mut self, count: usize, room: &mut [u8]) -> io::Result<usize> {
        // Data is read in its order.
        let now = if self.plain.is_empty() { count.min(room.len()) } else { 0 };
        let mut reader = self.connection.reader();
        reader.read_exact(room.get_mut(..now).unwrap_or_default())?;
        if now < count {
            let start = self.plain.len();
            self.plain.resize(start + count - now, 0);
            reader.read_exact(self.plain.get_mut(start..).unwrap_or_default())?;
        }
        Ok(now)
    }

    /// Takes what the library has to send.
    fn collect(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.cipher)?;
        }
        Ok(())
    }

    /// Encrypts data that is to be sent: `slices` as the caller has them, and offers them again until they were sent. Does nothing
    /// while encrypted data waits.
    ///
    /// # Errors
    /// The connection is over.
    pub fn encrypt(&mut self, slices: &[IoSlice<'_>]) -> io::Result<()> {
        if !self.is_up() || self.ahead > 0 {
            return Ok(());
        }
        let mut record = Vec::new();
        let last = slices.len().saturating_sub(1);
        for (place, slice) in slices.iter().enumerate() {
            let mut rest: &[u8] = slice;
            while !rest.is_empty() && self.ahead + record.len() < AHEAD {
                let (now, later) = rest.split_at(rest.len().min(RECORD - record.len()));
                rest = later;
                // Only a record of several pieces is put together.
                if record.is_empty() && (now.len() == RECORD || place == last) {
                    self.seal(now)?;
                    continue;
                }
                record.extend_from_slice(now);
                if record.len() == RECORD {
                    self.seal(&record)?;
                    record.clear();
                }
            }
        }
        self.seal(&record)
    }

    /// Makes a record of data.
    fn seal(&mut self, data: &[u8]) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        self.connection.writer().write_all(data)?;
        self.collect()?;
        self.records.push_back((self.cipher.len(), data.len()));
        self.ahead += data.len();
        Ok(())
    }

    /// Bytes to send.
    #[must_use]
    pub fn to_send(&self) -> &[u8] {
        self.cipher.get(self.sent..).unwrap_or_default()
    }

    /// The kernel took `count` bytes of [`Self::to_send`]. How many bytes of data have their last byte among them.
    pub fn sent(&mut self, count: usize) -> usize {
        self.sent += count;
        let mut data = 0;
        while let Some((_, length)) = self.records.pop_front_if(|(end, _)| *end <= self.sent) {
            data += length;
        }
        self.ahead -= data;
        if self.sent == self.cipher.len() {
            self.cipher_memory.empty(&mut self.cipher, KEPT, KEPT_BUSY);
            self.sent = 0;
        }
        data
    }

    /// Takes up to `room` bytes of received data.
    pub fn read(&mut self, room: &mut [u8]) -> usize {
        let rest = self.plain.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(room.len());
        let (now, _) = rest.split_at(count);
        if let Some(place) = room.get_mut(..count) {
            place.copy_from_slice(now);
        }
        self.taken += count;
        if self.taken == self.plain.len() {
            self.plain_memory.empty(&mut self.plain, KEPT, KEPT_BUSY);
            self.taken = 0;
        }
        count
    }

    /// Whether there is received data.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.taken < self.plain.len()
    }

    /// Whether the server has ended the connection in order.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Adds the end of the connection to what is to be sent.
    ///
    /// # Errors
    /// The connection is over.
    pub fn close(&mut self) -> io::Result<()> {
        if !matches!(self.stage, Stage::Asked(_)) {
            self.connection.send_close_notify();
        }
        self.collect()
    }
}

/// Whether the whole answer has arrived, and is yes.
fn is_yes(answer: &[u8]) -> io::Result<bool> {
    let length =
        StartTls::length(answer).map_err(|_| broken("the server's answer to the AUTH_TLS probe is invalid"))?;
    let Some(length) = length.filter(|length| *length <= answer.len()) else { return Ok(false) };
    let (answer, more) = answer.split_at(length);
    let message = answer.get(4..).unwrap_or_default();
    let problem = match StartTls::parse(message, XID) {
        // TLS begins with the client, so whatever follows was not sent by the server, or before it was asked.
        Ok(StartTls::Yes) if more.is_empty() => return Ok(true),
        Ok(StartTls::Yes) => return Err(broken("the server sent data before the TLS handshake")),
        Ok(StartTls::Unknown) => "it answers the AUTH_TLS probe like an ordinary call".to_owned(),
        Ok(StartTls::Rejected(status)) => format!("it rejects AUTH_TLS with auth_stat {status}"),
        Ok(StartTls::Failed) => "its RPC layer rejects the AUTH_TLS probe".to_owned(),
        Err(_) => return Err(broken("the server's answer to the AUTH_TLS probe is invalid")),
        Ok(StartTls::NoVersion) => return Err(io::Error::new(ErrorKind::Unsupported, VersionNotOffered)),
    };
    let words = format!("the server does not offer RPC over TLS ({problem}): omit xprtsec=tls");
    Err(io::Error::new(ErrorKind::Unsupported, words))
}

/// An error of the library, with a hint.
fn problem(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(_) => format!(
            "{error}; give the server's certificate authority with --tls-ca FILE, and give the target's host as in the server's \
            certificate (name or address)"
        ),
        _ => error.to_string(),
    }
}

/// Ciphers as reports name them.
fn name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "AES-128-GCM",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "AES-256-GCM",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "ChaCha20-Poly1305",
        other => other.as_str().unwrap_or("unknown cipher"),
    }
}
