//! The framer: a state machine from stream events to messages.
//!
//! Spec: RFC 1002 4.3.1; MS-SMB2 2.1; RFC 5531 11.

mod arrivals;
mod chain;
mod cursor;
mod head;

use arrivals::{Arrivals, wait};
use chain::Chain;
use cursor::Cursor;

use super::prefix::{MARK_LEN, Parsed, Prefix, prefix};
use super::signature::{self, MESSAGE_MAX};
use super::{Content, FragmentMark, Framing, Message};
use crate::packet::Stamp;
use crate::stream::Chunk;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
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
#[derive(Debug, Default)]
pub struct Framer {
    state: State,
    /// Prefix and head of the message under way.
    buffer: Vec<u8>,
    head_max: usize,
    /// Messages are decrypted, for which some must be kept whole.
    decrypts: bool,
    /// The buffer must not grow: a hole follows what it holds.
    head_closed: bool,
    remaining: u64,
    more_fragments: bool,
    mark: [u8; MARK_LEN],
    mark_len: usize,
    len: u64,
    first: Option<Stamp>,
    arrivals: Arrivals,
    /// Since when later bytes had been there when the chunk under way came, where it filled a gap.
    gap_seen_ns: Option<i64>,
    acknowledges: u64,
    packets: u32,
    /// Frame counted last in `packets`.
    counted_frame: u64,
    content: Content,
    /// Where the message under way began: its prefix.
    begin_offset: u64,
    /// Marks of its further fragments.
    marks: Vec<FragmentMark>,
    /// Framing was lost because the snap length cut a header off.
    lost_by_cut: bool,
    /// Framing was found once: from then on losing it is worth counting.
    found_once: bool,
    /// No message was found in bytes since framing was lost, or since the stream began.
    searched_in_vain: bool,
    /// Where messages may begin, from headers seen since then.
    chain: Chain,
    /// What went wrong so far.
    pub faults: Faults,
}

/// Counts of what went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Headers that the snaplen cut off.
    pub cut_short: u64,
    /// Cuts behind which messages may be hidden: those headers, and cut packets while framing was lost.
    pub cuts: u32,
    /// Stretches without a message where one should have begun.
    pub unrecognised: u64,
    /// Times when framing was found again.
    pub resynchronised: u64,
    /// Times when it was found behind bytes that may contain messages.
    pub hidden: u32,
    /// Records that contradict themselves.
    pub malformed: u64,
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

    /// Whether a message was found so far.
    pub fn found_once(&self) -> bool {
        self.found_once
    }

    /// Whether the bytes since the last message may contain messages that were not recognised. Bytes behind a cut by the snap length are
    /// not included: `faults.cuts` counts them.
    pub fn may_hide_messages(&self) -> bool {
        self.state == State::Lost && self.searched_in_vain && !self.lost_by_cut
    }

    /// Whether the message under way is a block of raw data.
    pub fn in_raw(&self) -> bool {
        self.content == Content::Raw && self.state == State::Body
    }

    /// The stream begins here (SYN seen), or what is known of it has become worthless.
    pub fn restart(&mut self, at_boundary: bool) {
        self.buffer.clear();
        self.searched_in_vain = false;
        self.chain.clear();
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
                State::Lost => self.search(&mut cursor, framing),
                State::Prefix => self.prefix_byte(&mut cursor, framing, allow_raw, &mut out),
                State::Mark => self.mark_byte(&mut cursor, &mut out),
            }
        }
        cursor.begun
    }

    /// Most messages fill a segment of their own, and need no cursor. False where this is not one of them.
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
        self.found_once = true;
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

    /// A hole in the stream: `len` bytes that will never be seen.
    pub fn hole(&mut self, len: u64, end_offset: u64, mut out: impl FnMut(&Message<'_>)) {
        self.lost_by_cut = false;
        match self.state {
            State::Lost => {}
            State::Boundary => self.state = State::Lost,
            State::Prefix => self.lost_beginning(&mut out),
            State::Mark => self.lost_mark(end_offset, &mut out),
            State::Body if len < self.remaining => {
                self.remaining -= len;
                self.head_closed = true;
                self.arrivals.incomplete = true;
            }
            State::Body if len == self.remaining => {
                self.remaining = 0;
                self.head_closed = true;
                self.fragment_end(None, end_offset, &mut out);
            }
            State::Body => {
                let end = end_offset - (len - self.remaining);
                self.finish(None, end, &mut out, State::Lost);
            }
        }
    }

    /// Hands on the message under way, its end unseen, where the receiver had all of it before it went on to send: this may be the
    /// answer. What still comes of it (a capture may be out of order) is stepped over. The bytes that were not seen are those
    /// from `next` to `acknowledged`.
    pub fn answered(&mut self, next: u64, acknowledged: u64, mut out: impl FnMut(&Message<'_>)) {
        let end = next + self.remaining;
        if self.state == State::Body && end <= acknowledged && !self.more_fragments && self.content != Content::Raw {
            self.finish(None, end, &mut out, State::Body);
            self.head_closed = true;
        }
    }

    /// Nothing more will come: hands on the message under way, its end unseen.
    pub fn end(&mut self, end_offset: u64, mut out: impl FnMut(&Message<'_>)) {
        if self.state == State::Prefix {
            return self.lost_beginning(&mut out);
        }
        match self.state {
            State::Body => self.finish(None, end_offset + self.remaining, &mut out, State::Lost),
            State::Mark => self.lost_mark(end_offset, &mut out),
            _ => {}
        }
    }

    #[inline]
    fn body(&mut self, cursor: &mut Cursor<'_, '_>, out: &mut impl FnMut(&Message<'_>)) {
        self.count_packet(cursor);
        let take = self.remaining.min(cursor.wire_rest() as u64) as usize;
        self.keep(cursor.rest(), take);
        self.remaining -= take as u64;
        cursor.at += take;
        if self.remaining == 0 {
            self.fragment_end(self.arrivals.latest, cursor.offset(), out);
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
                self.found_once = true;
                self.begin(&prefix, cursor, out);
            }
            Parsed::More if rest.len() == cursor.wire_rest() => {
                cursor.begun += 1;
                self.remember_first(cursor);
                self.buffer.extend_from_slice(rest);
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
    fn search(&mut self, cursor: &mut Cursor<'_, '_>, framing: Framing) {
        let (offset, rest) = (cursor.offset(), cursor.rest());
        let linked = self.chain.link(offset, rest);
        let found = signature::find(framing, rest, |end| self.chain.expect(offset + end as u64));
        let Some(found) = linked.into_iter().chain(found).min() else {
            let is_cut = cursor.rest().len() < cursor.wire_rest();
            self.faults.cuts = self.faults.cuts.saturating_add(u32::from(is_cut && self.lost_by_cut));
            self.searched_in_vain = true;
            return cursor.skip_all();
        };
        cursor.at += found;
        self.faults.hidden = self.faults.hidden.saturating_add(u32::from(self.may_hide_messages()));
        self.searched_in_vain = false;
        self.chain.clear();
        self.state = State::Boundary;
        if self.found_once {
            self.faults.resynchronised += 1;
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
        self.remember_first(cursor);
        self.open(prefix, rest);
        cursor.at += MARK_LEN;
        if self.remaining == 0 {
            self.state = State::Mark;
            self.mark_len = 0;
        }
    }

    fn remember_first(&mut self, cursor: &Cursor<'_, '_>) {
        self.first = Some(cursor.stamp());
        self.arrivals = Arrivals::default();
        self.arrivals.add(cursor.stamp(), self.gap_seen_ns);
        self.acknowledges = cursor.chunk.acknowledges;
        self.packets = 1;
        self.counted_frame = cursor.chunk.stamp.frame;
        self.begin_offset = cursor.offset();
        self.marks.clear();
        self.buffer.clear();
    }

    #[inline]
    fn count_packet(&mut self, cursor: &Cursor<'_, '_>) {
        let frame = cursor.chunk.stamp.frame;
        if self.counted_frame != frame {
            self.counted_frame = frame;
            self.packets += 1;
            self.arrivals.add(cursor.stamp(), self.gap_seen_ns);
        }
    }

    /// Enters the body of a message whose prefix is known; `head` begins with the prefix.
    fn open(&mut self, prefix: &Prefix, head: &[u8]) {
        self.state = State::Body;
        self.remaining = prefix.len;
        self.len = prefix.len;
        self.more_fragments = prefix.more_fragments;
        self.content = prefix.content;
        self.head_closed = false;
        let head = head.get(MARK_LEN..).unwrap_or_default();
        self.head_max = head::bytes_kept(head, self.decrypts);
    }

    /// Keeps what the head still has room for of the next `take` bytes on the wire.
    #[inline]
    fn keep(&mut self, rest: &[u8], take: usize) {
        if self.head_closed || is_service(self.content) || self.buffer.len() >= self.head_max {
            return;
        }
        let captured = rest.len().min(take);
        let room = self.head_max - self.buffer.len();
        self.buffer.extend_from_slice(&rest[..captured.min(room)]);
        self.head_closed = captured < take;
    }

    #[cold]
    fn prefix_byte(
        &mut self,
        cursor: &mut Cursor<'_, '_>,
        framing: Framing,
        allow_raw: bool,
        out: &mut impl FnMut(&Message<'_>),
    ) {
        self.count_packet(cursor);
        let Some(&byte) = cursor.rest().first() else {
            self.lost_beginning(out);
            return self.cut_short(cursor);
        };
        cursor.at += 1;
        self.buffer.push(byte);
        match prefix(framing, &self.buffer, allow_raw) {
            Parsed::More => {}
            Parsed::Wrong => {
                self.faults.unrecognised += 1;
                self.state = State::Lost;
            }
            Parsed::Ok(prefix) => {
                let buffer = std::mem::take(&mut self.buffer);
                self.open(&prefix, &buffer);
                self.buffer = buffer;
                self.buffer.drain(..MARK_LEN);
                // What the signature needed beyond the prefix already belongs to the body.
                self.remaining = self.remaining.saturating_sub(self.buffer.len() as u64);
                if self.remaining == 0 {
                    self.fragment_end(self.arrivals.latest, cursor.offset(), out);
                }
            }
        }
    }

    /// What is in the buffer will never be a header.
    #[cold]
    fn lost_beginning(&mut self, out: &mut impl FnMut(&Message<'_>)) {
        self.state = State::Lost;
        if let Some(first) = self.first.take() {
            out(&beginning(&self.buffer, first, self.begin_offset));
        }
    }

    /// The snaplen cut where a header should be.
    fn cut_short(&mut self, cursor: &mut Cursor<'_, '_>) {
        self.faults.cut_short += 1;
        self.faults.cuts = self.faults.cuts.saturating_add(1);
        self.lost_by_cut = true;
        self.state = State::Lost;
        cursor.skip_all();
    }

    #[cold]
    fn mark_byte(&mut self, cursor: &mut Cursor<'_, '_>, out: &mut impl FnMut(&Message<'_>)) {
        self.count_packet(cursor);
        let Some(&byte) = cursor.rest().first() else { return self.cut_short(cursor) };
        cursor.at += 1;
        self.mark[self.mark_len] = byte;
        self.mark_len += 1;
        if self.mark_len == MARK_LEN {
            let mark = u32::from_be_bytes(self.mark);
            self.marks.push(FragmentMark { at: self.len, bytes: self.mark });
            self.more_fragments = mark >> 31 == 0;
            self.remaining = u64::from(mark & 0x7fff_ffff);
            self.len += self.remaining;
            self.state = State::Body;
            if self.len > MESSAGE_MAX || (self.remaining == 0 && self.more_fragments) {
                self.faults.malformed += 1;
                self.state = State::Lost;
            } else if self.remaining == 0 {
                self.fragment_end(self.arrivals.latest, cursor.offset(), out);
            }
        }
    }

    /// The mark of the next fragment was not seen whole: another fragment follows, of unknown length.
    #[cold]
    fn lost_mark(&mut self, end_offset: u64, out: &mut impl FnMut(&Message<'_>)) {
        self.mark[self.mark_len..].fill(0);
        self.marks.push(FragmentMark { at: self.len, bytes: self.mark });
        self.finish(None, end_offset, out, State::Lost);
    }

    #[inline]
    fn fragment_end(&mut self, last: Option<Stamp>, end: u64, out: &mut impl FnMut(&Message<'_>)) {
        if self.more_fragments {
            self.mark_len = 0;
            self.state = State::Mark;
            if self.len > MESSAGE_MAX {
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
        let Some(first) = self.first.take() else { return };
        out(&Message {
            bytes: &self.buffer,
            len: self.len,
            first,
            last,
            resent_wait_ns: self.arrivals.resent_wait_ns().filter(|_| last.is_some()),
            end_offset: end,
            acknowledges: self.acknowledges,
            packets: self.packets,
            begin_offset: self.begin_offset,
            marks: &self.marks,
            content: self.content,
        });
        self.content = Content::Message;
        // Messages of several packets are few; thousands of idle connections with a buffer each are not.
        self.buffer = Vec::new();
    }
}

/// Whether it carries no message.
#[inline]
fn is_service(content: Content) -> bool {
    matches!(content, Content::Service(_))
}

/// A prefix with too little behind it.
#[cold]
fn beginning(bytes: &[u8], first: Stamp, begin_offset: u64) -> Message<'_> {
    Message {
        bytes,
        len: bytes.len() as u64,
        first,
        last: None,
        resent_wait_ns: None,
        end_offset: begin_offset + bytes.len() as u64,
        acknowledges: 0,
        packets: 1,
        begin_offset,
        marks: &[],
        content: Content::Beginning,
    }
}
