//! The framer: a state machine from stream events to messages.
//!
//! Spec: RFC 1002 4.3.1; MS-SMB2 2.1; RFC 5531 11.

mod arrivals;
mod chain;
mod cursor;
mod faults;
mod head;
mod large;
mod losses;
mod partial_message;
mod search;
mod torn;

use serde::{Deserialize, Serialize};

pub use faults::Faults;
pub use large::LongMessages;

use arrivals::wait;
use cursor::Cursor;
use partial_message::{PartialMessage, beginning, is_service};
use search::Search;

use super::prefix::{MARK_LEN, Parsed, Prefix, prefix};
use super::signature::MESSAGE_MAX;
use super::{Content, Framing, Message};
use crate::packet::Stamp;
use crate::stream::Chunk;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
enum State {
    /// Nothing known of where messages begin.
    #[default]
    Lost,
    /// The next byte begins a message.
    Boundary,
    /// Some bytes of the prefix are in the buffer.
    Prefix,
    /// Inside a message; `remaining` bytes of it (or of its fragment) are to come.
    Body,
    /// Between two fragments of an RPC record; some bytes of the mark are in `mark`.
    Mark,
}

/// Finds the messages in one direction of a connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Framer {
    state: State,
    message: PartialMessage,
    search: Search,
    /// Messages are decrypted, for which some must be kept whole.
    decrypts: bool,
    /// For a chunk that fills a gap: the time since which later bytes were there.
    gap_seen_ns: Option<i64>,
    /// Bytes of the message under way that are in the count of all streams.
    counted: usize,
    /// Faults so far.
    pub faults: Faults,
}

impl Framer {
    /// With `decrypts`, messages that decryption needs whole are kept whole.
    pub fn new(decrypts: bool) -> Self {
        Self { decrypts, ..Self::default() }
    }

    /// Whether a message is under way.
    pub fn is_inside(&self) -> bool {
        matches!(self.state, State::Prefix | State::Body | State::Mark)
    }

    /// Whether the next byte begins a message.
    pub fn is_at_boundary(&self) -> bool {
        self.state == State::Boundary
    }

    /// Whether framing is lost.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.state == State::Lost
    }

    /// Framing is lost, and goes on where a message begins at this offset.
    pub fn expect(&mut self, begin_offset: u64) {
        self.search.expect(begin_offset);
    }

    /// Framing is lost, and resumes with the next byte: an expected message begins there.
    pub fn resume(&mut self) {
        self.search.found(&mut self.faults);
        self.state = State::Boundary;
    }

    /// Whether a message was found so far.
    pub fn found_once(&self) -> bool {
        self.search.found_once
    }

    /// Whether the bytes since the last message may contain messages that were not recognised. Bytes behind a cut by the snap length are
    /// not included: `faults.cuts` counts them.
    pub fn may_hide_messages(&self) -> bool {
        self.state == State::Lost && self.search.may_hide_messages()
    }

    /// Whether the message under way is a block of raw data.
    pub fn in_raw(&self) -> bool {
        self.message.content == Content::Raw && self.state == State::Body
    }

    /// The stream begins here (SYN seen), or the framing state has become invalid.
    pub fn restart(&mut self, at_boundary: bool) {
        // It may have been much, and nothing may follow.
        self.message.buffer = Vec::new();
        self.search.restart();
        self.state = if at_boundary { State::Boundary } else { State::Lost };
    }

    /// Takes bytes that filled a gap, behind which later bytes had been since `seen_ns`; see [`Framer::data`].
    #[cold]
    pub fn late(
        &mut self,
        (chunk, seen_ns): (&Chunk<'_>, i64),
        framing: Framing,
        allow_raw: bool,
        out: impl FnMut(&Message<'_>),
    ) -> u32 {
        self.gap_seen_ns = Some(seen_ns);
        let begun = self.data(chunk, framing, allow_raw, out);
        self.gap_seen_ns = None;
        begun
    }

    /// Takes bytes in order. Gives each message that they complete to `out`; returns how many messages began here.
    #[inline]
    pub fn data(
        &mut self,
        chunk: &Chunk<'_>,
        framing: Framing,
        allow_raw: bool,
        mut out: impl FnMut(&Message<'_>),
    ) -> u32 {
        if self.state == State::Boundary && self.whole(chunk, framing, allow_raw, &mut out) {
            return 1;
        }
        self.pieces(chunk, framing, allow_raw, out)
    }

    /// Takes bytes in which a message begins, goes on or ends.
    #[inline(never)]
    fn pieces(
        &mut self,
        chunk: &Chunk<'_>,
        framing: Framing,
        allow_raw: bool,
        mut out: impl FnMut(&Message<'_>),
    ) -> u32 {
        let mut cursor = Cursor { chunk, at: 0, begun: 0 };
        while cursor.at < chunk.wire_len as usize {
            match self.state {
                State::Body => self.body(&mut cursor, &mut out),
                State::Boundary => self.boundary(&mut cursor, framing, allow_raw, &mut out),
                State::Lost => self.look_for_message(&mut cursor, framing),
                State::Prefix => self.prefix_byte(&mut cursor, framing, allow_raw, &mut out),
                State::Mark => self.mark_byte(&mut cursor, &mut out),
            }
        }
        cursor.begun
    }

    /// Takes a message that fills its segment exactly, as most do: it needs no cursor. Returns false for other segments.
    #[inline]
    fn whole(
        &mut self,
        chunk: &Chunk<'_>,
        framing: Framing,
        allow_raw: bool,
        out: &mut impl FnMut(&Message<'_>),
    ) -> bool {
        let Some((mark, bytes)) = chunk.bytes.split_first_chunk::<MARK_LEN>() else { return false };
        // Both framings have the length in the low three bytes, and none that is believed needs more.
        let len = u32::from_be_bytes([0, mark[1], mark[2], mark[3]]);
        if bytes.len() != len as usize || chunk.bytes.len() != chunk.wire_len as usize {
            return false;
        }
        let Parsed::Ok(prefix) = prefix(framing, chunk.bytes, allow_raw) else { return false };
        if prefix.len != u64::from(len) || prefix.more_fragments || is_service(prefix.content) {
            return false;
        }
        self.search.found_once = true;
        let stamp = chunk.stamp;
        out(&Message {
            bytes,
            len: prefix.len,
            first: stamp,
            last: Some(stamp),
            resent_wait_ns: Some(self.gap_seen_ns.map_or(0, |seen| wait(seen, stamp.time_ns))),
            end_offset: chunk.offset + u64::from(chunk.wire_len),
            acknowledges: chunk.acknowledges,
            packets: 1,
            begin_offset: chunk.offset,
            marks: &[],
            content: prefix.content,
        });
        true
    }

    #[inline]
    fn body(&mut self, cursor: &mut Cursor<'_, '_>, out: &mut impl FnMut(&Message<'_>)) {
        self.message.count_packet(cursor, self.gap_seen_ns);
        let take = self.message.remaining.min(cursor.wire_rest() as u64) as usize;
        self.message.keep(cursor.rest(), take);
        self.message.remaining -= take as u64;
        cursor.at += take;
        if self.message.remaining == 0 {
            self.fragment_end(self.message.arrivals.latest, cursor.offset(), out);
        }
    }

    #[inline]
    fn boundary(
        &mut self,
        cursor: &mut Cursor<'_, '_>,
        framing: Framing,
        allow_raw: bool,
        out: &mut impl FnMut(&Message<'_>),
    ) {
        let rest = cursor.rest();
        match prefix(framing, rest, allow_raw) {
            Parsed::Ok(prefix) => {
                cursor.begun += 1;
                self.search.found_once = true;
                self.begin(&prefix, cursor, out);
            }
            Parsed::More if rest.len() == cursor.wire_rest() => {
                cursor.begun += 1;
                self.message.begin(cursor, self.gap_seen_ns);
                self.message.buffer.extend_from_slice(rest);
                self.state = State::Prefix;
                cursor.skip_all();
            }
            Parsed::More => {
                out(&beginning(rest, cursor.stamp(), cursor.offset()));
                self.cut_short(cursor);
            }
            Parsed::Wrong => {
                self.faults.unrecognised += 1;
                self.state = State::Lost;
            }
        }
    }

    #[cold]
    fn look_for_message(&mut self, cursor: &mut Cursor<'_, '_>, framing: Framing) {
        if self.search.finds_message(cursor, framing, &mut self.faults) {
            self.state = State::Boundary;
        }
    }

    /// A message begins at the cursor.
    #[inline]
    fn begin(&mut self, prefix: &Prefix, cursor: &mut Cursor<'_, '_>, out: &mut impl FnMut(&Message<'_>)) {
        let rest = cursor.rest();
        let total = prefix.len as usize + MARK_LEN;
        if total <= cursor.wire_rest() && !prefix.more_fragments {
            // The usual case: the whole message lies in this segment, and nothing is copied.
            cursor.at += total;
            out(&Message {
                bytes: rest.get(MARK_LEN..total.min(rest.len())).unwrap_or_default(),
                len: prefix.len,
                first: cursor.stamp(),
                last: Some(cursor.stamp()),
                resent_wait_ns: Some(self.gap_seen_ns.map_or(0, |seen| wait(seen, cursor.chunk.stamp.time_ns))),
                end_offset: cursor.offset(),
                acknowledges: cursor.chunk.acknowledges,
                packets: 1,
                begin_offset: cursor.offset() - total as u64,
                marks: &[],
                content: prefix.content,
            });
            return;
        }
        self.message.begin(cursor, self.gap_seen_ns);
        self.open(prefix, rest);
        cursor.at += MARK_LEN;
        if self.message.remaining == 0 {
            self.state = State::Mark;
            self.message.mark_len = 0;
        }
    }

    /// Enters the body of a message whose prefix is known; `head` begins with the prefix.
    fn open(&mut self, prefix: &Prefix, head: &[u8]) {
        self.state = State::Body;
        self.message.open(prefix, head, self.decrypts);
    }

    #[inline]
    fn fragment_end(&mut self, last: Option<Stamp>, end: u64, out: &mut impl FnMut(&Message<'_>)) {
        if self.message.more_fragments {
            self.message.mark_len = 0;
            self.state = State::Mark;
            if self.message.len > MESSAGE_MAX {
                self.faults.malformed += 1;
                self.state = State::Lost;
            }
        } else {
            self.finish(last, end, out, State::Boundary);
        }
    }

    #[inline]
    fn finish(&mut self, last: Option<Stamp>, end: u64, out: &mut impl FnMut(&Message<'_>), then: State) {
        self.state = then;
        self.message.hand_on(last, end, out);
    }
}
