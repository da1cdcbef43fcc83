//! `copy-range`: copies a range of one open file to another with READ and WRITE, piece by piece.

use std::sync::Arc;

use super::{Composition, Part};
use crate::content::Content;
use crate::operation::{FileKey, Reply};

/// The longest piece, bytes: what most servers take at once. Clients cut it where theirs takes less.
const PIECE: u32 = 1 << 20;

/// A copy that is under way.
pub(super) struct CopyRange {
    from: FileKey,
    from_offset: u64,
    to: FileKey,
    to_offset: u64,
    /// Bytes that were not read yet.
    left: u32,
    copied: u32,
    /// Bytes that the read under way asks for; `None` while a piece is written.
    asked: Option<u32>,
    /// The piece that was read and not written yet.
    piece: Vec<u8>,
    /// Data came that was not asked for, or not in order.
    wrong: bool,
}

impl CopyRange {
    pub(super) fn new((from, from_offset): (FileKey, u64), (to, to_offset): (FileKey, u64), length: u32) -> Self {
        let (copied, asked, piece, wrong) = (0, None, Vec::new(), false);
        Self { from, from_offset, to, to_offset, left: length, copied, asked, piece, wrong }
    }

    fn read(&mut self, bytes: u32, asked: u32) -> bool {
        self.asked = None;
        self.from_offset = self.from_offset.saturating_add(bytes.into());
        // A short read is the end of the file.
        self.left = if bytes < asked { 0 } else { self.left - asked };
        bytes <= asked && self.piece.len() == bytes as usize && !self.wrong
    }

    fn written(&mut self, bytes: u32) -> bool {
        let sound = bytes > 0 && bytes as usize <= self.piece.len();
        self.piece.drain(..self.piece.len().min(bytes as usize));
        self.to_offset = self.to_offset.saturating_add(bytes.into());
        self.copied = self.copied.saturating_add(bytes);
        sound
    }
}

impl Composition for CopyRange {
    fn next(&mut self) -> Option<Part> {
        if !self.piece.is_empty() {
            let content = Arc::new(Content::at(self.to_offset, &self.piece));
            // A piece is no longer than PIECE.
            let length = self.piece.len() as u32;
            return Some(Part::Write { file: self.to, offset: self.to_offset, length, content });
        }
        let length = self.left.min(PIECE);
        self.asked = Some(length);
        (length > 0).then_some(Part::Read { file: self.from, offset: self.from_offset, length })
    }

    fn data(&mut self, offset: u64, piece: &[u8]) {
        let room = (self.asked.unwrap_or(0) as usize).saturating_sub(self.piece.len());
        self.wrong |= offset != self.from_offset.saturating_add(self.piece.len() as u64) || piece.len() > room;
        if !self.wrong {
            self.piece.extend_from_slice(piece);
        }
    }

    fn replied(&mut self, reply: &Reply) -> bool {
        match (self.asked, reply) {
            (Some(asked), Reply::Read { bytes }) => self.read(*bytes, asked),
            (None, Reply::Written { bytes }) => self.written(*bytes),
            _ => false,
        }
    }

    fn reply(&self) -> Reply {
        Reply::Written { bytes: self.copied }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Endpoint, Outcome, Symbol};

    use super::super::Composed;
    use super::*;
    use crate::blocking::Collected;
    use crate::calls::Identity;
    use crate::local::{PathClient, Root};
    use crate::operation::{Access, Caching, Cause, Disposition, Failure, Operation, Tag, Ticket};
    use crate::{Client, Outbox};

    struct Bench {
        folder: tempfile::TempDir,
        client: Composed<PathClient>,
        seen: Collected,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let (nowhere, none) = (Endpoint::NOWHERE, Symbol::NONE);
            let identity = Identity { client: nowhere, server: nowhere, connection: 0, share: none, user: none };
            let client = Composed::new(PathClient::new(Root::open(folder.path()).unwrap(), identity));
            Self { folder, client, seen: Collected::default() }
        }

        fn act(&mut self, operation: &Operation<'_>) -> Result<Reply, Failure> {
            let ticket = Ticket { tag: Tag(7), intended: Some(3), path: Symbol::NONE };
            self.client.begin(operation, ticket, 5, &mut Outbox::new(), &mut self.seen);
            let result = self.seen.take_done(Tag(7)).expect("it ends at once");
            assert!(self.seen.take_done(Tag(7)).is_none() && self.client.jobs.is_empty(), "it ends once");
            result
        }

        fn open(&mut self, path: &str, bytes: &[u8]) -> FileKey {
            std::fs::write(self.folder.path().join(path), bytes).unwrap();
            let (disposition, caching) = (Disposition::Open, Caching::None);
            match self.act(&Operation::Open { path, access: Access::ReadWrite, disposition, caching }) {
                Ok(Reply::Opened { file, .. }) => file,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn bytes_are_copied_piece_after_piece() {
        let source: Vec<u8> = (0..3 * PIECE).map(|at| (at % 251) as u8).collect();
        let mut bench = Bench::new();
        let (from, to) = (bench.open("from", &source), bench.open("to", b"0123456789"));
        bench.seen.transactions.clear();
        let length = 2 * PIECE + 5;
        let copy = Operation::CopyRange { from, from_offset: 3, to, to_offset: 7, length };
        assert_eq!(bench.act(&copy), Ok(Reply::Written { bytes: length }));
        let found = std::fs::read(bench.folder.path().join("to")).unwrap();
        assert!(found[..7] == *b"0123456" && found[7..] == source[3..][..length as usize]);
        let sent = std::mem::take(&mut bench.seen.transactions);
        let procedures: Vec<String> = sent.iter().map(|t| t.procedure.name().to_string()).collect();
        assert_eq!(procedures, ["pread", "pwritev", "pread", "pwritev", "pread", "pwritev"]);
        // The schedule meant the first request alone.
        let intended: Vec<bool> = sent.iter().map(|t| t.timeline.intended.is_some()).collect();
        assert_eq!(intended, [true, false, false, false, false, false]);
        assert!(bench.seen.data.is_empty(), "the data are nobody else's");
    }

    #[test]
    fn the_end_of_the_source_ends_the_copy() {
        let mut bench = Bench::new();
        let (from, to) = (bench.open("from", b"abcdef"), bench.open("to", b""));
        for (from_offset, length, copied) in [(2, 100, 4), (6, 1, 0), (9, 9, 0), (0, 0, 0), (0, 6, 6)] {
            let copy = Operation::CopyRange { from, from_offset, to, to_offset: 0, length };
            assert_eq!(bench.act(&copy), Ok(Reply::Written { bytes: copied }), "{from_offset}, {length}");
        }
    }

    #[test]
    fn a_part_that_fails_ends_the_copy() {
        let mut bench = Bench::new();
        let (from, to) = (bench.open("from", b"abcdef"), bench.open("to", b""));
        assert_eq!(bench.act(&Operation::Close { file: to }), Ok(Reply::Nothing));
        let copy = Operation::CopyRange { from, from_offset: 0, to, to_offset: 0, length: 6 };
        let failure = bench.act(&copy).unwrap_err();
        assert_eq!((failure.cause, failure.outcome), (Cause::Unsupported, Outcome::NeverSent));
    }

    #[test]
    fn replies_that_make_no_sense_are_refused() {
        let file = FileKey(0);
        let begun = || {
            let mut copy = CopyRange::new((file, 10), (file, 0), 4);
            assert!(copy.next().is_some());
            copy
        };
        for (offset, data, bytes) in [(10, &b"abcd"[..], 3), (11, b"abcd", 4), (10, b"abcde", 5), (10, b"", 4)] {
            let mut copy = begun();
            copy.data(offset, data);
            assert!(!copy.replied(&Reply::Read { bytes }), "{offset}, {bytes}");
        }
        let mut copy = begun();
        copy.data(10, b"abcd");
        assert!(copy.replied(&Reply::Read { bytes: 4 }) && copy.next().is_some());
        assert!(!copy.replied(&Reply::Written { bytes: 0 }) && !begun().replied(&Reply::Nothing));
    }
}
