//! Bytes that are missing from a stream: holes, cut packets, an end that was not seen.

use super::super::{Content, FragmentMark, Message};
use super::cursor::Cursor;
use super::partial_message::beginning;
use super::{Framer, State};
use crate::stream::Chunk;

impl Framer {
    /// A hole in the stream: `len` bytes that will never be seen.
    pub fn hole(&mut self, len: u64, end_offset: u64, mut out: impl FnMut(&Message<'_>)) {
        self.search.lost_by_cut = false;
        match self.state {
            State::Lost => {}
            State::Boundary => self.state = State::Lost,
            State::Prefix => self.lost_beginning(&mut out),
            State::Mark => self.lost_mark(end_offset, &mut out),
            State::Body if len < self.message.remaining => {
                self.message.remaining -= len;
                self.message.head_closed = true;
                self.message.arrivals.incomplete = true;
            }
            State::Body if len == self.message.remaining => {
                self.message.remaining = 0;
                self.message.head_closed = true;
                self.fragment_end(None, end_offset, &mut out);
            }
            State::Body => {
                let end = end_offset - (len - self.message.remaining);
                self.finish(None, end, &mut out, State::Lost);
            }
        }
    }

    /// Bytes came after their hole was given up: if they are of the message under way, it was not complete before.
    pub fn found(&mut self, chunk: &Chunk<'_>) {
        if self.state == State::Body && chunk.offset >= self.message.begin_offset {
            self.message.arrivals.add(chunk.stamp, None);
        }
    }

    /// Hands on the message under way, its end unseen, where the receiver had all of it before it went on to send: this may be the
    /// answer. What still comes of it (a capture may be out of order) is stepped over. The bytes that were not seen are those
    /// from `next` to `acknowledged`.
    pub fn answered(&mut self, next: u64, acknowledged: u64, mut out: impl FnMut(&Message<'_>)) {
        let end = next + self.message.remaining;
        if self.state == State::Body
            && end <= acknowledged
            && !self.message.more_fragments
            && self.message.content != Content::Raw
        {
            self.finish(None, end, &mut out, State::Body);
            self.message.head_closed = true;
        }
    }

    /// Nothing more will come: hands on the message under way, its end unseen.
    pub fn end(&mut self, end_offset: u64, mut out: impl FnMut(&Message<'_>)) {
        if self.state == State::Prefix {
            return self.lost_beginning(&mut out);
        }
        match self.state {
            State::Body => self.finish(None, end_offset + self.message.remaining, &mut out, State::Lost),
            State::Mark => self.lost_mark(end_offset, &mut out),
            _ => {}
        }
    }

    /// The bytes in the buffer will never be a header.
    #[cold]
    pub(super) fn lost_beginning(&mut self, out: &mut impl FnMut(&Message<'_>)) {
        self.state = State::Lost;
        if let Some(first) = self.message.first.take() {
            out(&beginning(&self.message.buffer, first, self.message.begin_offset));
        }
    }

    /// The mark of the next fragment was not seen whole: another fragment follows, of unknown length.
    #[cold]
    pub(super) fn lost_mark(&mut self, end_offset: u64, out: &mut impl FnMut(&Message<'_>)) {
        self.message.mark[self.message.mark_len..].fill(0);
        self.message.marks.push(FragmentMark { at: self.message.len, bytes: self.message.mark });
        self.finish(None, end_offset, out, State::Lost);
    }

    /// The snaplen cut where a header should be.
    pub(super) fn cut_short(&mut self, cursor: &mut Cursor<'_, '_>) {
        self.faults.cut_short += 1;
        self.faults.cuts = self.faults.cuts.saturating_add(1);
        self.search.lost_by_cut = true;
        self.state = State::Lost;
        cursor.skip_all();
    }
}
