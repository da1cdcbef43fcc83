//! The members of a compound: messages chained by NextCommand inside one transport message.
//!
//! Spec: MS-SMB2 2.2.1 (NextCommand), 3.3.5.2.7

use super::header::{self, Header};

/// Members begin at multiples of this, counted from the first header.
pub const ALIGNMENT: usize = 8;
/// No real client chains as many; an endless chain in bad input stops here.
pub const MAX_MEMBERS: u16 = 4096;

/// One message of a compound; a message that is no compound has one member.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// 0 for the first.
    pub position: u16,
    /// Where its header begins, in bytes from the first header.
    pub offset: usize,
    /// Its length in bytes, including bytes that were not captured and the padding that aligns the next member.
    pub len: usize,
    /// Its captured bytes.
    pub bytes: &'a [u8],
    /// Its header.
    pub header: Header<'a>,
}

/// Iterates over the members of one message; a message that is no compound yields one.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    captured: &'a [u8],
    total_len: usize,
    offset: usize,
    position: u16,
    done: bool,
    malformed: bool,
    cut_short: bool,
}

impl<'a> Members<'a> {
    /// `captured` begins at the first SMB2 header; `total_len` is the length that the transport announced, including bytes that were not
    /// captured. Bytes beyond `total_len` belong to another message and are ignored.
    #[inline]
    #[must_use]
    pub fn new(captured: &'a [u8], total_len: usize) -> Self {
        let captured = captured.get(..total_len).unwrap_or(captured);
        Self { captured, total_len, offset: 0, position: 0, done: false, malformed: false, cut_short: false }
    }

    /// Whether the iteration ended at an invalid length or header. The members before it remain valid; the last one gets the rest of the
    /// message as its length.
    #[must_use]
    pub fn malformed(&self) -> bool {
        self.malformed
    }

    /// True once iteration ended because the next header was not captured: there is at least one member more.
    #[must_use]
    pub fn cut_short(&self) -> bool {
        self.cut_short
    }

    /// Length of the member at `offset` and whether another follows. Flags a link that cannot be right.
    #[inline]
    fn link(&mut self, header: &Header<'a>, rest: usize) -> (usize, bool) {
        let next = header.next_command();
        if next == 0 {
            return (rest, false);
        }
        let next = usize::try_from(next).unwrap_or(usize::MAX);
        let fits = next >= header::LEN && next % ALIGNMENT == 0 && next.saturating_add(header::LEN) <= rest;
        if fits && self.position + 1 < MAX_MEMBERS {
            return (next, true);
        }
        self.malformed = true;
        (rest, false)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    #[inline]
    fn next(&mut self) -> Option<Member<'a>> {
        if self.done {
            return None;
        }
        self.done = true;
        let rest = self.total_len - self.offset;
        let bytes = self.captured.get(self.offset..).unwrap_or_default();
        let Some(header) = Header::new(bytes) else {
            // Too few bytes is a different case from bytes of another protocol.
            self.cut_short = bytes.len() < header::MIN_CAPTURED && rest >= header::LEN;
            self.malformed = !self.cut_short;
            return None;
        };
        if rest < header::LEN {
            self.malformed = true;
            return None;
        }
        let (len, more) = self.link(&header, rest);
        let bytes = bytes.get(..len).unwrap_or(bytes);
        let header = Header::new(bytes)?;
        let member = Member { position: self.position, offset: self.offset, len, bytes, header };
        if more {
            self.offset += len;
            self.position += 1;
            self.done = false;
        }
        Some(member)
    }
}

impl core::iter::FusedIterator for Members<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::header::FLAG_RELATED;
    use crate::smb2::testing::Message;
    use proptest::prelude::*;

    /// CREATE, SET_INFO and CLOSE in one message, as clients delete: lengths 128, 104 and 88.
    fn delete() -> Vec<u8> {
        let mut bytes = Message::request(5).next(128).message_id(4).fill(64).bytes();
        bytes.extend(Message::request(17).next(104).message_id(5).flags(FLAG_RELATED).fill(40).bytes());
        bytes.extend(Message::request(6).message_id(6).flags(FLAG_RELATED).fill(24).bytes());
        bytes
    }

    #[test]
    fn members_of_a_compound() {
        let bytes = delete();
        let mut members = Members::new(&bytes, bytes.len());
        let seen: Vec<_> =
            members.by_ref().map(|m| (m.position, m.offset, m.len, m.bytes.len(), m.header.command_code())).collect();
        assert_eq!(seen, [(0, 0, 128, 128, 5), (1, 128, 104, 104, 17), (2, 232, 88, 88, 6)]);
        assert!(!members.malformed() && !members.cut_short());
    }

    #[test]
    fn lengths_are_real_where_the_capture_cut() {
        let whole = delete();
        let mut members = Members::new(&whole[..128 + 30], whole.len());
        let seen: Vec<_> = members.by_ref().map(|m| (m.len, m.bytes.len())).collect();
        assert_eq!(seen, [(128, 128), (104, 30)]);
        assert!(members.cut_short() && !members.malformed());
    }

    #[test]
    fn every_truncation_yields_a_prefix_of_the_members() {
        let whole = delete();
        for cut in 0..whole.len() {
            let mut members = Members::new(&whole[..cut], whole.len());
            let count = members.by_ref().count();
            assert_eq!(count, [26, 154, 258].iter().filter(|end| cut >= **end).count(), "{cut}");
            assert_eq!(members.cut_short(), count < 3);
            assert!(!members.malformed());
        }
    }

    #[test]
    fn bytes_of_the_next_transport_message_are_left_alone() {
        let mut bytes = Message::request(13).fill(4).bytes();
        bytes.extend([0xEE; 100]);
        let member = Members::new(&bytes, 68).next().unwrap();
        assert_eq!((member.len, member.bytes.len()), (68, 68));
    }

    #[test]
    fn bad_links_end_the_chain() {
        for (next, why) in [(1, "unaligned"), (56, "inside the header"), (132, "unaligned"), (u32::MAX, "beyond")] {
            let mut bytes = delete();
            bytes[20..24].copy_from_slice(&u32::to_le_bytes(next));
            let mut members = Members::new(&bytes, bytes.len());
            let lens: Vec<_> = members.by_ref().map(|m| m.len).collect();
            assert_eq!(lens, [bytes.len()], "{why}");
            assert!(members.malformed(), "{why}");
        }
    }

    #[test]
    fn a_member_without_magic_is_malformed() {
        let mut bytes = delete();
        bytes[128] = 0;
        let mut members = Members::new(&bytes, bytes.len());
        assert_eq!(members.by_ref().count(), 1);
        assert!(members.malformed());
    }

    #[test]
    fn an_endless_chain_is_bounded() {
        let one = Message::request(13).next(64).bytes();
        let bytes = one.repeat(10_000);
        let mut members = Members::new(&bytes, bytes.len());
        assert_eq!(members.by_ref().count(), usize::from(MAX_MEMBERS));
        assert!(members.malformed());
    }

    proptest! {
        #[test]
        fn any_links_stay_inside(links in proptest::collection::vec(prop_oneof![0..40u32, any::<u32>()], 1..8),
                                 cut: prop::sample::Index, total in 0..2000usize) {
            let bytes: Vec<u8> = links.iter().flat_map(|link| {
                let next = if *link < 40 { link * 8 } else { *link };
                Message::request(5).next(next).fill(32).bytes()
            }).collect();
            let captured = &bytes[..cut.index(bytes.len() + 1)];
            let mut end = 0;
            for member in Members::new(captured, total) {
                prop_assert_eq!(member.offset, end);
                end += member.len;
                prop_assert!(end <= total && member.bytes.len() <= member.len);
            }
        }
    }
}
