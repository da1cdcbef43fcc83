//! Prefixes and marks that come in several packets, byte by byte.

use super::super::prefix::{MARK_LEN, Parsed, prefix};
use super::super::signature::MESSAGE_MAX;
use super::super::{FragmentMark, Framing, Message};
use super::cursor::Cursor;
use super::{Framer, State};

impl Framer {
    #[cold]
    pub(super) fn prefix_byte(
        &mut self,
        cursor: &mut Cursor<'_, '_>,
        framing: Framing,
        allow_raw: bool,
        out: &mut impl FnMut(&Message<'_>),
    ) {
        self.message.count_packet(cursor, self.gap_seen_ns);
        let Some(&byte) = cursor.rest().first() else {
            self.lost_beginning(out);
            return self.cut_short(cursor);
        };
        cursor.at += 1;
        self.message.buffer.push(byte);
        match prefix(framing, &self.message.buffer, allow_raw) {
            Parsed::More => {}
            Parsed::Wrong => {
                self.faults.unrecognised += 1;
                self.state = State::Lost;
            }
            Parsed::Ok(prefix) => {
                let buffer = std::mem::take(&mut self.message.buffer);
                self.open(&prefix, &buffer);
                self.message.buffer = buffer;
                self.message.buffer.drain(..MARK_LEN);
                // Bytes that the signature needed beyond the prefix already belong to the body.
                self.message.remaining = self.message.remaining.saturating_sub(self.message.buffer.len() as u64);
                if self.message.remaining == 0 {
                    self.fragment_end(self.message.arrivals.latest, cursor.offset(), out);
                }
            }
        }
    }

    #[cold]
    pub(super) fn mark_byte(&mut self, cursor: &mut Cursor<'_, '_>, out: &mut impl FnMut(&Message<'_>)) {
        self.message.count_packet(cursor, self.gap_seen_ns);
        let Some(&byte) = cursor.rest().first() else {
            self.lost_mark(cursor.offset(), out);
            return self.cut_short(cursor);
        };
        cursor.at += 1;
        self.message.mark[self.message.mark_len] = byte;
        self.message.mark_len += 1;
        if self.message.mark_len == MARK_LEN {
            let mark = u32::from_be_bytes(self.message.mark);
            self.message.marks.push(FragmentMark { at: self.message.len, bytes: self.message.mark });
            self.message.more_fragments = mark >> 31 == 0;
            self.message.remaining = u64::from(mark & 0x7fff_ffff);
            self.message.len += self.message.remaining;
            self.state = State::Body;
            if self.message.len > MESSAGE_MAX || (self.message.remaining == 0 && self.message.more_fragments) {
                self.faults.malformed += 1;
                self.state = State::Lost;
            } else if self.message.remaining == 0 {
                self.fragment_end(self.message.arrivals.latest, cursor.offset(), out);
            }
        }
    }
}
