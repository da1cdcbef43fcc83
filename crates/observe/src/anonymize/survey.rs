//! The first pass over a capture: the bytes to write of each stream, and each packet's offset in its stream.
//!
//! The pass stores only recognised fields, so the second pass cannot leak anything else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_wire::rpc::Asked;

use super::key::Key;
use super::message::{Calls, Protocol, without_names};
use super::pieces::Pieces;
use crate::message::{Content, Message};
use crate::recent::Recent;
use crate::tracer::{FragmentKey, Tracer};

/// Memory for messages and places of packets, bytes.
pub const MEMORY_MAX: usize = 2 << 30;
/// An entry of a table, bytes: up to 40, and free entries.
const ENTRY: usize = 64;
/// A span in a list whose capacity doubles, bytes.
const SPAN: usize = 2 * size_of::<Span>();
/// Runs of zeros as long are not remembered.
const ZEROS: usize = 24;
/// Calls of a generation whose replies may still come.
const CALLS_MAX: usize = 1 << 20;
/// Length of a prefix or record mark.
const PREFIX: usize = 4;

/// Where the data of a packet stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a stream, from this offset on.
    Stream(Stream, u64),
    /// In the datagram that this packet completed, from this offset on.
    Datagram(u64, u32),
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    connection: u32,
    direction: u8,
}

/// Bytes of a stream or datagram, which stand from `begin` to `end` in `bytes` of the survey.
#[derive(Clone, Copy, Debug)]
struct Span {
    offset: u64,
    begin: usize,
    end: usize,
}

/// Counts of the first pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Messages of SMB1.
    pub smb1: u64,
    /// Messages of SMB 2 and 3.
    pub smb2: u64,
    /// Messages of RPC.
    pub rpc: u64,
}

/// Results of the first pass.
#[derive(Debug)]
pub(super) struct Survey {
    key: Key,
    places: HashMap<u64, Place, foldhash::fast::RandomState>,
    streams: HashMap<Stream, Vec<Span>, foldhash::fast::RandomState>,
    datagrams: HashMap<u64, Span, foldhash::fast::RandomState>,
    pieces: Pieces,
    bytes: Vec<u8>,
    /// Memory in use.
    used: usize,
    calls: RecentCalls,
    messages: Messages,
    is_full: bool,
}

type RecentCalls = Recent<(Stream, u32), Asked, CALLS_MAX>;

/// The calls of one connection, for a message that goes in one direction.
struct CallsOf<'c> {
    calls: &'c mut RecentCalls,
    own: Stream,
}

impl Calls for CallsOf<'_> {
    fn called(&mut self, xid: u32, asked: Asked) {
        self.calls.insert((self.own, xid), asked);
    }

    fn asked(&self, xid: u32) -> Option<Asked> {
        let other = Stream { direction: 1 - self.own.direction, ..self.own };
        self.calls.get(&(other, xid))
    }
}

impl Survey {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            places: HashMap::default(),
            streams: HashMap::default(),
            datagrams: HashMap::default(),
            pieces: Pieces::default(),
            bytes: Vec::new(),
            used: 0,
            calls: RecentCalls::default(),
            messages: Messages::default(),
            is_full: false,
        }
    }

    /// The pass is over: puts the spans in order.
    pub(super) fn sort(&mut self) {
        self.streams.values_mut().for_each(|spans| spans.sort_by_key(|span| span.offset));
        (self.calls, self.pieces) = (RecentCalls::default(), Pieces::default());
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn messages(&self) -> Messages {
        self.messages
    }

    /// Whether there was no room for all that is to be remembered.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Where the data of a packet stand, if that is known.
    pub(super) fn place(&self, frame: u64) -> Option<Place> {
        self.places.get(&frame).copied()
    }

    /// Whether any data of the packet's stream or datagram was recognised.
    pub(super) fn is_understood(&self, place: Place) -> bool {
        match place {
            Place::Stream(stream, _) => self.streams.contains_key(&stream),
            Place::Datagram(frame, _) => self.datagrams.contains_key(&frame),
        }
    }

    /// Length of the captured part of the message in the packet's datagram.
    pub(super) fn message_len(&self, place: Place) -> Option<usize> {
        let Place::Datagram(frame, _) = place else { return None };
        self.datagrams.get(&frame).map(|span| span.end - span.begin)
    }

    /// Writes the stored bytes from `place` on into `out`, which is all zeros.
    pub(super) fn fill(&self, place: Place, out: &mut [u8]) {
        match place {
            Place::Stream(stream, offset) => {
                let spans = self.streams.get(&stream).map_or(&[][..], Vec::as_slice);
                let end = offset.saturating_add(out.len() as u64);
                // Spans do not overlap, so only the last span that begins before the packet can reach into it.
                let from = spans.partition_point(|span| span.offset <= offset).saturating_sub(1);
                for span in spans[from..].iter().take_while(|span| span.offset < end) {
                    self.copy(span, offset, out);
                }
            }
            Place::Datagram(frame, offset) => {
                if let Some(span) = self.datagrams.get(&frame) {
                    self.copy(span, u64::from(offset), out);
                }
            }
        }
    }

    /// Copies the part of a span within `out`, which begins at `offset`.
    fn copy(&self, span: &Span, offset: u64, out: &mut [u8]) {
        let bytes = self.bytes.get(span.begin..span.end).unwrap_or_default();
        let skipped = usize::try_from(offset.saturating_sub(span.offset)).unwrap_or(usize::MAX);
        let at = usize::try_from(span.offset.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (Some(bytes), Some(out)) = (bytes.get(skipped..), out.get_mut(at..)) else { return };
        let len = bytes.len().min(out.len());
        out[..len].copy_from_slice(&bytes[..len]);
    }

    /// Takes memory; false if there is not enough.
    fn reserve(&mut self, bytes: usize) -> bool {
        self.used = self.used.saturating_add(bytes);
        self.is_full |= self.used > MEMORY_MAX;
        !self.is_full
    }

    fn note(&mut self, frame: u64, place: Place) {
        if self.reserve(ENTRY) {
            self.places.insert(frame, place);
        }
    }

    /// Remembers bytes of a stream without long runs of zeros.
    fn keep(&mut self, stream: Stream, offset: u64, bytes: &[u8]) {
        // A stream whose recognised data is only zeros counts as recognised too.
        let streams = self.streams.len();
        self.streams.entry(stream).or_default();
        self.reserve((self.streams.len() - streams) * ENTRY);
        let mut at = 0;
        while let Some(skipped) = bytes[at..].iter().position(|byte| *byte != 0) {
            let begin = at + skipped;
            let zeros = bytes[begin..].windows(ZEROS).position(|window| window.iter().all(|byte| *byte == 0));
            at = zeros.map_or(bytes.len(), |zeros| begin + zeros);
            let span = self.span(offset + begin as u64, &bytes[begin..at]);
            if let (Some(span), Some(spans)) = (span, self.streams.get_mut(&stream)) {
                spans.push(span);
            }
        }
    }

    fn span(&mut self, offset: u64, bytes: &[u8]) -> Option<Span> {
        self.reserve(SPAN + bytes.len()).then(|| {
            let begin = self.bytes.len();
            self.bytes.extend_from_slice(bytes);
            Span { offset, begin, end: self.bytes.len() }
        })
    }

    fn without_names(&mut self, stream: Stream, message: &Message<'_>) -> Vec<u8> {
        match Protocol::of(message.bytes) {
            Protocol::Smb1 => self.messages.smb1 += 1,
            Protocol::Smb2 => self.messages.smb2 += 1,
            Protocol::Rpc => self.messages.rpc += 1,
        }
        let mut calls = CallsOf { calls: &mut self.calls, own: stream };
        without_names(message.bytes, message.len, &self.key, &mut calls)
    }

    fn take(&mut self, stream: Stream, message: &Message<'_>) {
        let begin = message.begin_offset;
        match message.content {
            Content::Service(kind) => {
                let [_, len @ ..] = (message.len as u32).to_be_bytes();
                self.keep(stream, begin, &[kind, len[0], len[1], len[2]]);
            }
            Content::Raw => self.keep(stream, begin, &smb_prefix(message.len)),
            Content::Beginning => self.keep(stream, begin, &beginning(message.bytes)),
            Content::Message => {
                let prefix = match Protocol::of(message.bytes) {
                    Protocol::Rpc => record_mark(message),
                    Protocol::Smb1 | Protocol::Smb2 => smb_prefix(message.len),
                };
                let body = self.without_names(stream, message);
                self.keep_record(stream, begin, prefix, &body, message);
            }
        }
    }

    /// Remembers a message with its prefix, and with the record marks within it.
    fn keep_record(&mut self, stream: Stream, begin: u64, prefix: [u8; PREFIX], body: &[u8], message: &Message<'_>) {
        let mut record = Vec::with_capacity(PREFIX + body.len());
        record.extend(prefix);
        let mut done = 0;
        for (number, mark) in message.marks.iter().enumerate() {
            let Some(part) = usize::try_from(mark.at).ok().and_then(|at| body.get(done..at)) else {
                // The record mark follows the stored bytes of the message.
                self.keep(stream, begin + (PREFIX * (number + 1)) as u64 + mark.at, &mark.bytes);
                continue;
            };
            record.extend(part);
            record.extend(mark.bytes);
            done += part.len();
        }
        record.extend(&body[done..]);
        self.keep(stream, begin, &record);
    }
}

fn smb_prefix(len: u64) -> [u8; PREFIX] {
    let [_, len @ ..] = (len as u32).to_be_bytes();
    [0, len[0], len[1], len[2]]
}

/// The mark of a record's first fragment, which is its only one unless further marks follow.
fn record_mark(message: &Message<'_>) -> [u8; PREFIX] {
    match message.marks.first() {
        Some(next) => (next.at as u32).to_be_bytes(),
        None => (message.len as u32 | 1 << 31).to_be_bytes(),
    }
}

/// The start of a message without enough of its header: the prefix, and the header bytes only if they can be those of SMB or RPC.
fn beginning(bytes: &[u8]) -> Vec<u8> {
    let mut kept = bytes.to_vec();
    let is_rpc = |words: &[u8]| {
        let (words, _) = words.as_chunks::<4>();
        // Whether it is a call; RPC's version 2.
        words.get(1).is_none_or(|kind| matches!(u32::from_be_bytes(*kind), 0 | 1))
            && words.get(2).is_none_or(|version| u32::from_be_bytes(*version) <= 2)
    };
    let header = bytes.get(PREFIX..).unwrap_or_default();
    let is_smb = header.len() < 4 && header.iter().skip(1).zip(b"SMB").all(|(byte, expected)| byte == expected);
    if !is_smb && !is_rpc(header) {
        kept.truncate(PREFIX);
    }
    kept
}

/// A survey that the observer and its owner share.
#[derive(Clone, Debug)]
pub(super) struct Shared(pub(super) Arc<Mutex<Survey>>);

impl Shared {
    fn with(&self, act: impl FnOnce(&mut Survey)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Tracer for Shared {
    fn segment(&mut self, frame: u64, connection: u32, direction: usize, offset: u64) {
        self.with(|survey| survey.note(frame, Place::Stream(stream(connection, direction), offset)));
    }

    fn message(&mut self, connection: u32, direction: usize, message: &Message<'_>) {
        self.with(|survey| survey.take(stream(connection, direction), message));
    }

    fn tls_record(&mut self, connection: u32, direction: usize, offset: u64, head: &[u8]) {
        self.with(|survey| survey.keep(stream(connection, direction), offset, head));
    }

    fn datagram(&mut self, frame: u64, connection: u32, direction: usize, message: &Message<'_>) {
        self.with(|survey| {
            let bytes = survey.without_names(stream(connection, direction), message);
            if let Some(span) = survey.span(0, &bytes)
                && survey.reserve(2 * ENTRY)
            {
                survey.datagrams.insert(frame, span);
                survey.places.entry(frame).or_insert(Place::Datagram(frame, 0));
            }
        });
    }

    fn fragment(&mut self, frame: u64, key: FragmentKey, offset: u32, is_new: bool) {
        self.with(|survey| survey.pieces.add(key, (frame, offset), is_new));
    }

    fn whole(&mut self, frame: u64, key: FragmentKey) {
        self.with(|survey| {
            for (piece, offset) in survey.pieces.take(&key) {
                survey.note(piece, Place::Datagram(frame, offset));
            }
        });
    }
}

fn stream(connection: u32, direction: usize) -> Stream {
    Stream { connection, direction: direction as u8 }
}

#[cfg(test)]
mod tests;
