//! A server that knows how answers of NFSv3 look, and has no files.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;

use plimsoll_client::calls::Identity;
use plimsoll_client::nfs3::NfsOptions;
use plimsoll_model::{Endpoint, Symbol};
use plimsoll_wire::nfs::v3::FileHandle;
use plimsoll_wire::nfs::{Facts, arguments};
use plimsoll_wire::rpc::{Call, Caller};
use plimsoll_wire::xdr::Emit;
use rand::Rng;

/// Options of user nobody with the root handle `root`.
pub(crate) fn options() -> Arc<NfsOptions> {
    Arc::new(NfsOptions::new(FileHandle::new(b"root").unwrap(), &Caller::Nobody).unwrap())
}

/// A connection from nowhere to nowhere.
pub(crate) fn identity() -> Identity {
    let nowhere = Endpoint { ip: Ipv4Addr::LOCALHOST.into(), port: 1 };
    Identity { client: nowhere, server: nowhere, connection: 0, share: Symbol::NONE, user: Symbol::NONE }
}

/// A call that came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) xid: u32,
    procedure: u32,
    /// Of READ and WRITE.
    count: u32,
}

/// The call that the server received.
#[derive(Debug, Default)]
pub(crate) struct Server {
    stream: Vec<u8>,
    asked: VecDeque<Asked>,
}

impl Server {
    /// Takes a piece of the stream.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.stream.extend_from_slice(bytes);
        while let Some(mark) = self.stream.first_chunk() {
            let length = (u32::from_be_bytes(*mark) & 0x7FFF_FFFF) as usize;
            if self.stream.len() < 4 + length {
                return;
            }
            let message: Vec<u8> = self.stream.drain(..4 + length).skip(4).collect();
            let call = Call::new(&message).unwrap();
            assert_eq!((call.program(), call.version()), (100_003, 3));
            let mut facts = Facts::default();
            arguments(100_003, 3, call.procedure(), call.arguments().unwrap(), &mut facts);
            let count = facts.count.unwrap_or_default() as u32;
            self.asked.push_back(Asked { xid: call.xid(), procedure: call.procedure(), count });
        }
    }

    /// The oldest call.
    pub(crate) fn first(&mut self) -> Option<Asked> {
        self.asked.pop_front()
    }

    /// Any call; now and then it is forgotten, and now and then it is kept to be answered again.
    pub(crate) fn pick(&mut self, rng: &mut impl Rng) -> Option<Asked> {
        let at = rng.random_range(0..self.asked.len().max(1));
        match rng.random_range(0..50) {
            0 => self.asked.get(at).cloned(),
            _ => self.asked.remove(at),
        }
    }
}

/// How an answer is.
struct Choice {
    attributes: bool,
    handle: bool,
    status: u32,
    count: u32,
    eof: bool,
    number: u64,
}

impl Asked {
    /// A correct answer: everything exists, everything succeeds, every directory has one piece.
    pub(crate) fn fine(&self) -> Vec<u8> {
        self.with(&Choice { attributes: true, handle: true, status: 0, count: self.count, eof: true, number: 1 })
    }

    pub(crate) fn procedure(&self) -> u32 {
        self.procedure
    }

    /// A correct answer to a WRITE that wrote only the first half of its data.
    pub(crate) fn half(&self) -> Vec<u8> {
        let count = self.count.div_ceil(2);
        self.with(&Choice { attributes: true, handle: true, status: 0, count, eof: true, number: 1 })
    }

    /// A refusal.
    pub(crate) fn refused(&self, status: u32) -> Vec<u8> {
        self.with(&Choice { attributes: true, handle: true, status, count: 0, eof: true, number: 1 })
    }

    /// An answer as it may be, or as it may not.
    pub(crate) fn answer(&self, rng: &mut impl Rng, corrupted: bool) -> Vec<u8> {
        let statuses = [2, 5, 13, 17, 20, 28, 70, 10_001, 10_004, 10_008, 4_711];
        let status = if rng.random_range(0..6) == 0 { statuses[rng.random_range(0..statuses.len())] } else { 0 };
        let count = match rng.random_range(0..6) {
            0 => rng.random_range(self.count.min(1)..=self.count),
            _ if corrupted => self.count.saturating_add(1),
            _ => self.count,
        };
        let (attributes, handle) = (rng.random(), rng.random_range(0..5) > 0);
        let number: u64 = rng.random();
        // A piece of a directory without names is its end.
        let eof = rng.random_range(0..3) > 0 || !corrupted && number % 5 < 3;
        self.with(&Choice { attributes, handle, status, count, eof, number })
    }

    fn with(&self, choice: &Choice) -> Vec<u8> {
        let mut results = Vec::new();
        if self.procedure != 0 {
            results.put_u32(choice.status);
            self.results(choice, &mut results);
        }
        record(self.xid, &results)
    }

    fn results(&self, choice: &Choice, out: &mut Vec<u8>) {
        let fine = choice.status == 0;
        let before = |out: &mut Vec<u8>| {
            out.put_u32(u32::from(choice.handle));
            out.put_fixed(&[0; 24][..if choice.handle { 24 } else { 0 }]);
        };
        match self.procedure {
            1 if fine => put_attributes(choice, out),
            1 => {}
            // SETATTR, REMOVE, RMDIR, RENAME, LINK: the same, done or not.
            2 | 12..=15 => {
                match self.procedure {
                    15 => put_optional(choice, out),
                    14 => {
                        before(out);
                        put_optional(choice, out);
                        before(out);
                    }
                    _ => before(out),
                }
                if self.procedure == 15 {
                    before(out);
                }
                put_optional(choice, out);
            }
            3 if fine => {
                out.put_opaque(&choice.number.to_be_bytes());
                put_optional(choice, out);
                put_optional(choice, out);
            }
            // CREATE, MKDIR, SYMLINK.
            8..=10 if fine => {
                out.put_u32(u32::from(choice.handle));
                if choice.handle {
                    out.put_opaque(&choice.number.to_be_bytes());
                }
                put_optional(choice, out);
                before(out);
                put_optional(choice, out);
            }
            7..=10 | 21 => {
                before(out);
                put_optional(choice, out);
                match (self.procedure, fine) {
                    (7, true) => {
                        out.put_u32(choice.count);
                        out.put_u32(u32::from(choice.eof) * 2);
                        out.put_u64(choice.number % 2);
                    }
                    (21, true) => out.put_u64(choice.number % 2),
                    _ => {}
                }
            }
            _ => {
                put_optional(choice, out);
                if fine {
                    self.collected(choice, out);
                }
            }
        }
    }

    /// What follows the attributes.
    fn collected(&self, choice: &Choice, out: &mut Vec<u8>) {
        match self.procedure {
            4 => out.put_u32(0x3F),
            5 => out.put_opaque(b"some/where"),
            6 => {
                out.put_u32(choice.count);
                out.put_u32(u32::from(choice.eof));
                out.put_opaque(&vec![7; choice.count as usize]);
            }
            16 | 17 => {
                out.put_u64(choice.number);
                for name in [".", "..", "name", "n\u{e9}"].iter().take((choice.number % 5) as usize) {
                    out.put_u32(1);
                    out.put_u64(choice.number);
                    out.put_opaque(name.as_bytes());
                    out.put_u64(choice.number);
                    if self.procedure == 17 {
                        put_optional(choice, out);
                        out.put_u32(0);
                    }
                }
                out.put_u32(0);
                out.put_u32(u32::from(choice.eof));
            }
            18 => out.put_fixed(&[1; 52]),
            19 => {
                let sizes = [1 << 10, 1 << 10, 1, 1 << 10, 1 << 10, 1, 8 << 10];
                sizes.iter().for_each(|&size| out.put_u32(size));
                out.put_fixed(&[1; 20]);
            }
            _ => {}
        }
    }
}

fn put_attributes(choice: &Choice, out: &mut Vec<u8>) {
    out.put_u32(1 + (choice.number % 7) as u32);
    out.put_fixed(&[0; 80]);
}

fn put_optional(choice: &Choice, out: &mut Vec<u8>) {
    out.put_u32(u32::from(choice.attributes));
    if choice.attributes {
        put_attributes(choice, out);
    }
}

/// An accepted reply with results, as a record.
pub(crate) fn record(xid: u32, results: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.put_u32(0x8000_0000 | (24 + results.len()) as u32);
    [xid, 1, 0, 0, 0, 0].iter().for_each(|&word| bytes.put_u32(word));
    bytes.extend_from_slice(results);
    bytes
}

/// Kinds of [`rejection`].
pub(crate) const REJECTIONS: u32 = 7;

/// The RPC layer says no, in one way or another.
pub(crate) fn rejection(xid: u32, kind: u32) -> Vec<u8> {
    let words: &[u32] = match kind {
        0 => &[0, 0, 0, 1],
        1 => &[0, 0, 0, 2, 2, 4],
        2 => &[0, 0, 0, 3],
        3 => &[0, 0, 0, 4],
        4 => &[0, 0, 0, 5],
        5 => &[1, 0, 3, 4],
        _ => &[1, 1, 5],
    };
    let mut bytes = Vec::new();
    bytes.put_u32(0x8000_0000 | (8 + 4 * words.len()) as u32);
    [xid, 1].iter().chain(words).for_each(|&word| bytes.put_u32(word));
    bytes
}

/// The same record in several fragments.
pub(crate) fn cut_up(record: &[u8], rng: &mut impl Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = record.get(4..).unwrap_or_default();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rng.random_range(1..=rest.len()));
        let last = if behind.is_empty() { 0x8000_0000 } else { 0 };
        bytes.put_u32(last | piece.len() as u32);
        bytes.extend_from_slice(piece);
        rest = behind;
    }
    bytes
}
