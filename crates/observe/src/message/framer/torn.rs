//! Prefixes and marks that come in several packets, byte by byte.

use super::super::prefix::{MARK_LEN, Parsed, prefix};
use super::super::signature::MESSAGE_MAX;
use super::super::{FragmentMark, Framing, Message};
use super::cursor::Cursor;
use super::{Framer, State};

/// Maximum number of further fragments of a message: a message of the largest size in fragments of 4 KiB.
const MARKS_MAX: usize = 4_096;

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
            let is_endless = self.message.remaining == 0 && self.message.more_fragments;
            if self.message.len > MESSAGE_MAX || is_endless || self.message.marks.len() > MARKS_MAX {
                self.faults.malformed += 1;
                self.state = State::Lost;
            } else if self.message.remaining == 0 {
                self.fragment_end(self.message.arrivals.latest, cursor.offset(), out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Stamp;
    use crate::stream::Chunk;

    #[test]
    fn a_record_of_countless_fragments_is_no_message() {
        let mut framer = Framer::default();
        framer.restart(true);
        // A call of NFS 3, and then a byte in each fragment.
        let words: [u32; 11] = [40, 7, 0, 2, 100_003, 3, 1, 0, 0, 0, 0];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        (0..=MARKS_MAX).for_each(|_| bytes.extend([0, 0, 0, 1, 7]));
        let (wire_len, stamp) = (bytes.len() as u32, Stamp { time_ns: 0, frame: 1 });
        let chunk = Chunk { offset: 0, bytes: &bytes, wire_len, stamp, acknowledges: 0 };
        framer.data(&chunk, Framing::Rpc, false, |_| panic!("a message"));
        assert_eq!((framer.faults.malformed, framer.is_lost()), (1, true));
    }
}
