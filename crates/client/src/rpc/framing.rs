//! Records: from a stream to messages, and which of their bytes are worth keeping.
//!
//! Spec: RFC 5531 11

use plimsoll_wire::rpc::{MAX_AUTH_BYTES, results_at};

use super::{Connection, Context};
use crate::client::Framing;

/// Bytes of a record mark.
const MARK: usize = 4;
/// The bit of a record mark that says: last fragment.
const LAST: u32 = 0x8000_0000;
/// The longest answer that is taken, bytes: above the largest READ of any server, with room for its head.
const LONGEST: usize = 16 << 20;
/// The kind of a message that is a call (RFC 5531 9).
const CALL: u32 = 0;
/// Bytes that are kept of a server's call, at most: sessions allow it fewer.
const LONGEST_CALL: usize = 16 << 10;
/// Fragments of one record, at most. Servers send one, or cut long records at 4 KiB or more.
const FRAGMENTS: usize = 4096;
/// Bytes that are kept of an answer to nothing: enough for its head.
const UNMATCHED: usize = 1024;
/// Where the length of an accepted reply's verifier ends: xid, REPLY, MSG_ACCEPTED, flavour, length.
const VERIFIER_END: usize = MARK + 20;

impl<C: Context> Connection<C> {
    /// How the record that begins with `head` is framed.
    pub(crate) fn frame(&self, head: &[u8]) -> Framing {
        let (mut at, mut data) = (0, 0);
        for number in 0..FRAGMENTS {
            let Some(mark) = word(head, at) else { return Framing::Need(at + MARK) };
            let length = (mark & !LAST) as usize;
            data += length;
            at += MARK + length;
            let last = mark & LAST != 0;
            if data > LONGEST || length == 0 && !last {
                return Framing::Broken;
            }
            if last {
                // Of several fragments all bytes are kept.
                return if number == 0 { self.single(head, at) } else { whole(at) };
            }
        }
        Framing::Broken
    }

    /// A record of one fragment, `length` bytes with its mark: unwanted results are dropped unread.
    fn single(&self, head: &[u8], length: usize) -> Framing {
        if length <= VERIFIER_END {
            return whole(length);
        }
        let (Some(xid), Some(verifier)) = (word(head, MARK), word(head, VERIFIER_END - 4)) else {
            return Framing::Need(VERIFIER_END);
        };
        // A server's call of its client (RFC 8881 2.10.3.1), which is kept whole: it is short.
        if word(head, MARK + 4) == Some(CALL) {
            return Framing::Message { length: length as u64, keep: length.min(LONGEST_CALL) };
        }
        let keep = match self.calls.find(self.id_of(xid)) {
            None => UNMATCHED,
            Some(call) => match call.context.results_kept().filter(|_| !self.hides_results()) {
                Some(results) => MARK + results_at(verifier.min(MAX_AUTH_BYTES) as usize) + results,
                None => length,
            },
        };
        Framing::Message { length: length as u64, keep: keep.min(length) }
    }
}

fn whole(length: usize) -> Framing {
    Framing::Message { length: length as u64, keep: length }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(word.try_into().ok()?))
}

/// The message in a record whose bytes were kept from its start: without its marks.
pub(crate) fn unmarked<'a>(record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
    let Some(first) = word(record, 0) else { return &[] };
    if first & LAST != 0 {
        return record.get(MARK..).unwrap_or_default();
    }
    scratch.clear();
    let mut at = 0;
    while let Some(mark) = word(record, at) {
        let start = at + MARK;
        at = start + (mark & !LAST) as usize;
        scratch.extend_from_slice(record.get(start..at.min(record.len())).unwrap_or_default());
        if mark & LAST != 0 {
            break;
        }
    }
    scratch
}

/// Bytes of the marks in a record.
pub(crate) fn marks(record: &[u8]) -> usize {
    let (mut at, mut marks) = (0, 0);
    while let Some(mark) = word(record, at) {
        marks += MARK;
        if mark & LAST != 0 {
            break;
        }
        at += MARK + (mark & !LAST) as usize;
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_one_message() {
        let record = [0, 0, 0, 2, b'a', b'b', 0, 0, 0, 0, 0x80, 0, 0, 1, b'c'];
        let mut scratch = Vec::new();
        assert_eq!(unmarked(&record, &mut scratch), b"abc");
        assert_eq!(marks(&record), 12);
        assert_eq!(unmarked(&[0x80, 0, 0, 1, b'x'], &mut scratch), b"x");
    }
}
