//! The incomplete message: the bytes so far, and the number of bytes to come.

use serde::{Deserialize, Serialize};

use super::super::prefix::{MARK_LEN, Prefix};
use super::super::{Content, FragmentMark, Message};
use super::arrivals::Arrivals;
use super::cursor::Cursor;
use super::head;
use crate::packet::Stamp;

/// The message under way.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PartialMessage {
    /// Its prefix and head.
    pub(super) buffer: Vec<u8>,
    pub(super) head_max: usize,
    /// The buffer must not grow: a hole follows its bytes.
    pub(super) head_closed: bool,
    /// Bytes to come of the message or of its fragment.
    pub(super) remaining: u64,
    pub(super) more_fragments: bool,
    pub(super) mark: [u8; MARK_LEN],
    pub(super) mark_len: usize,
    pub(super) len: u64,
    pub(super) first: Option<Stamp>,
    pub(super) arrivals: Arrivals,
    acknowledges: u64,
    packets: u32,
    /// Frame counted last in `packets`.
    counted_frame: u64,
    pub(super) content: Content,
    /// Where it began: its prefix.
    pub(super) begin_offset: u64,
    /// Marks of its further fragments.
    pub(super) marks: Vec<FragmentMark>,
}

impl PartialMessage {
    /// A message begins at the cursor.
    pub(super) fn begin(&mut self, cursor: &Cursor<'_, '_>, gap_seen_ns: Option<i64>) {
        self.first = Some(cursor.stamp());
        self.arrivals = Arrivals::default();
        self.arrivals.add(cursor.stamp(), gap_seen_ns);
        self.acknowledges = cursor.chunk.acknowledges;
        self.packets = 1;
        self.counted_frame = cursor.chunk.stamp.frame;
        self.begin_offset = cursor.offset();
        self.marks.clear();
        self.buffer.clear();
    }

    #[inline]
    pub(super) fn count_packet(&mut self, cursor: &Cursor<'_, '_>, gap_seen_ns: Option<i64>) {
        let frame = cursor.chunk.stamp.frame;
        if self.counted_frame != frame {
            self.counted_frame = frame;
            self.packets += 1;
            self.arrivals.add(cursor.stamp(), gap_seen_ns);
        }
    }

    /// Enters the body of the message, whose prefix is known; `head` begins with the prefix.
    pub(super) fn open(&mut self, prefix: &Prefix, head: &[u8], decrypts: bool) {
        self.remaining = prefix.len;
        self.len = prefix.len;
        self.more_fragments = prefix.more_fragments;
        self.content = prefix.content;
        self.head_closed = false;
        let head = head.get(MARK_LEN..).unwrap_or_default();
        self.head_max = head::bytes_kept(head, decrypts);
    }

    /// Stores as many of the next `take` bytes on the wire as the head has room for.
    #[inline]
    pub(super) fn keep(&mut self, rest: &[u8], take: usize) {
        if self.head_closed || is_service(self.content) || self.buffer.len() >= self.head_max {
            return;
        }
        let captured = rest.len().min(take);
        let room = self.head_max - self.buffer.len();
        self.buffer.extend_from_slice(&rest[..captured.min(room)]);
        if captured >= room {
            self.head_max = head::bytes_kept_later(&self.buffer);
            let more = captured.min(room + self.head_max - self.buffer.len());
            self.buffer.extend_from_slice(&rest[room..more]);
        }
        self.head_closed = captured < take;
    }

    /// Gives it to `out`; it ends at `end`.
    #[inline]
    pub(super) fn hand_on(&mut self, last: Option<Stamp>, end: u64, out: &mut impl FnMut(&Message<'_>)) {
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
pub(super) fn is_service(content: Content) -> bool {
    matches!(content, Content::Service(_))
}

/// A prefix with too little behind it.
#[cold]
pub(super) fn beginning(bytes: &[u8], first: Stamp, begin_offset: u64) -> Message<'_> {
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
