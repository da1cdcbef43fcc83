//! A real server behind the memory network: bytes come and go under the virtual clock, and what answers them is the server
//! itself, asked over a socket while the clock stands still.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use plimsoll_drive::network::memory::{Accept, Delivery, Memory, Reply, Server};
use plimsoll_serve::Kind;

/// When the clock starts, ns since the Unix epoch.
const START: i64 = 1_700_000_000_000_000_000;
/// What connecting takes, ns.
const CONNECTING: i64 = 30_000;
/// Time of the first answer to requests that arrived together, and of each further piece of an answer, ns.
pub(crate) const LATENCY: i64 = 50_001;
const PIECE: i64 = 707;
/// Longer answers come in two pieces, bytes: their first byte and their last have different times.
const LONG: usize = 100;
/// A server that is silent for this time counts as ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// A network on which every connection leads to the server at `address`.
pub(crate) fn network(kind: Kind, address: SocketAddr) -> Memory {
    Memory::new(START, move |_, _, _| Accept::Serve(Box::new(Bridge::new(kind, address)), CONNECTING))
}

/// One connection.
struct Bridge {
    kind: Kind,
    stream: TcpStream,
    asked: Vec<u8>,
    answered: Vec<u8>,
    /// Ids of requests without a final answer.
    open: Vec<u64>,
    /// When the last piece was delivered.
    last: i64,
}

impl Bridge {
    fn new(kind: Kind, address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { kind, stream, asked: Vec::new(), answered: Vec::new(), open: Vec::new(), last: 0 }
    }

    fn deliver(&mut self, at: i64, piece: &[u8], replies: &mut Vec<Reply>) {
        self.last = (at + LATENCY).max(self.last + PIECE);
        replies.push(Reply { at: self.last, what: Delivery::Bytes(piece.to_vec()) });
    }
}

impl Server for Bridge {
    fn received(&mut self, at: i64, bytes: &[u8], replies: &mut Vec<Reply>) {
        self.asked.extend_from_slice(bytes);
        while let Some(message) = cut(self.kind, &mut self.asked) {
            self.open.extend(ids(self.kind, &message));
            self.stream.write_all(&message).unwrap();
        }
        while !self.open.is_empty() {
            let mut piece = [0; 64 << 10];
            let count = match self.stream.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                count => count.unwrap(),
            };
            assert!(count > 0, "closed, with {:?} unanswered", self.open);
            self.answered.extend_from_slice(&piece[..count]);
            while let Some(message) = cut(self.kind, &mut self.answered) {
                let final_for = ids(self.kind, &message);
                self.open.retain(|id| !final_for.contains(id));
                let (front, back) = message.split_at(if message.len() > LONG { message.len() / 3 } else { 0 });
                [front, back]
                    .iter()
                    .filter(|piece| !piece.is_empty())
                    .for_each(|piece| self.deliver(at, piece, replies));
            }
        }
    }
}

/// Takes the first complete message with its framing.
fn cut(kind: Kind, bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let prefix = u32::from_be_bytes(*bytes.first_chunk()?);
    let length = 4 + match kind {
        // MS-SMB2 2.1: a zero and 24 bits of length.
        Kind::Smb => prefix & 0x00FF_FFFF,
        // RFC 5531 11: neither side of these sends a message in more than one fragment.
        Kind::Nfs => {
            assert!(prefix & 0x8000_0000 != 0, "a fragment");
            prefix & 0x7FFF_FFFF
        }
    } as usize;
    (bytes.len() >= length).then(|| bytes.drain(..length).collect())
}

/// The ids of all requests, or of all final answers, in a message.
fn ids(kind: Kind, message: &[u8]) -> Vec<u64> {
    let word = |at: usize| -> u32 { u32::from_le_bytes(*message[at..].first_chunk().unwrap()) };
    if kind == Kind::Nfs {
        return vec![word(4).into()];
    }
    let (mut ids, mut at) = (Vec::new(), 4);
    loop {
        // MS-SMB2 2.2.1: protocol id, status at 8, next command at 20, message id at 24.
        assert_eq!(message[at..at + 4], *b"\xFESMB");
        const STATUS_PENDING: u32 = 0x103;
        if word(at + 8) != STATUS_PENDING {
            ids.push(u64::from(word(at + 24)) | u64::from(word(at + 28)) << 32);
        }
        match word(at + 20) as usize {
            0 => return ids,
            next => at += next,
        }
    }
}
