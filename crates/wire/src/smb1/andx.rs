//! The blocks of a message: WordCount, words, ByteCount, bytes, and the AndX commands that follow each other in one message.
//! Spec: MS-CIFS 2.2.3.2, 2.2.3.3, 2.2.3.4

use super::command;
use super::fields::{clipped, u8_at, u16_at, u32_at, u64_at};
use super::header::{HEADER_LEN, Header};
use super::string::Reader;

/// Links that a chain may have; more is a malformed message. (MS-CIFS lets a chain use each AndX command about once.)
pub const MAX_LINKS: u16 = 32;

/// AndXCommand, in the words of an AndX command.
const ANDX_COMMAND: usize = 0;
/// AndXOffset, in the words: from the start of the header to the next WordCount.
const ANDX_OFFSET: usize = 2;
/// Bytes of words that AndXCommand, AndXReserved and AndXOffset take.
const ANDX_LEN: usize = 4;

/// One command of a message. The only one, unless the message is an AndX chain.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// 0 for the command in the header, then counting.
    pub position: u16,
    /// SMB_COM code, see [`super::command`].
    pub command: u8,
    /// Bytes from the start of the header to this link's WordCount.
    pub offset: usize,
    /// Words that follow; `None` when the capture ends before the count.
    pub word_count: Option<u8>,
    /// Bytes that follow the words, as the wire says (a large read or write needs more bits than this has).
    pub byte_count: Option<u16>,
    /// The captured part of the words.
    pub words: &'a [u8],
    /// The captured part of the bytes.
    pub bytes: &'a [u8],
    /// Whether bytes are missing that the counts promise.
    pub truncated: bool,
    header: Header<'a>,
}

impl<'a> Link<'a> {
    fn new(header: Header<'a>, position: u16, command: u8, offset: usize) -> Self {
        let message = header.message();
        let word_count = u8_at(message, offset);
        let words_start = offset.saturating_add(1);
        let words_len = usize::from(word_count.unwrap_or(0)) * 2;
        let byte_count_at = words_start.saturating_add(words_len);
        // Without a word count, the position of the byte count is unknown.
        let byte_count = word_count.and_then(|_| u16_at(message, byte_count_at));
        let bytes_len = usize::from(byte_count.unwrap_or(0));
        let bytes_start = byte_count_at.saturating_add(2);
        let (words, bytes) = match word_count {
            Some(_) => (clipped(message, words_start, words_len), clipped(message, bytes_start, bytes_len)),
            None => Default::default(),
        };
        let truncated = byte_count.is_none() || bytes.len() < bytes_len;
        Self { position, command, offset, word_count, byte_count, words, bytes, truncated, header }
    }

    /// The header of the message: one for all links.
    pub fn header(&self) -> Header<'a> {
        self.header
    }

    /// Everything captured of the message: offsets in the words count from its start.
    pub fn message(&self) -> &'a [u8] {
        self.header.message()
    }

    /// Whether this is an answer. A link exists only after its command byte, so a header cut before FLAGS counts as none.
    pub fn is_response(&self) -> bool {
        self.header.is_response() == Some(true)
    }

    /// Whether this is a request.
    pub fn is_request(&self) -> bool {
        self.header.is_response() == Some(false)
    }

    /// Whether this is an answer without any words or bytes: an error, or an interim answer.
    pub fn is_empty(&self) -> bool {
        self.word_count == Some(0) && self.byte_count.unwrap_or(0) == 0
    }

    /// The byte at an offset in the words; `None` beyond them.
    pub fn u8(&self, at: usize) -> Option<u8> {
        u8_at(self.words, at)
    }

    /// The little-endian 16-bit number at a byte offset in the words.
    pub fn u16(&self, at: usize) -> Option<u16> {
        u16_at(self.words, at)
    }

    /// The little-endian 32-bit number at a byte offset in the words.
    pub fn u32(&self, at: usize) -> Option<u32> {
        u32_at(self.words, at)
    }

    /// The little-endian 64-bit number at a byte offset in the words.
    pub fn u64(&self, at: usize) -> Option<u64> {
        u64_at(self.words, at)
    }

    /// Reads the bytes of this link one field after another; `None` when ByteCount is missing.
    pub(super) fn reader(&self) -> Option<Reader<'a>> {
        let unicode = self.header.unicode()?;
        let start = self.words_end().checked_add(2)?;
        let end = start.checked_add(usize::from(self.byte_count?))?;
        Some(Reader::new(self.message(), start, end, unicode))
    }

    fn words_end(&self) -> usize {
        self.offset.saturating_add(1 + usize::from(self.word_count.unwrap_or(0)) * 2)
    }
}

/// Walks the links of one message. The link after one that was cut is found if the AndX words were captured.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    header: Header<'a>,
    total_len: usize,
    position: u16,
    next: Option<(u8, usize)>,
    malformed: bool,
}

impl<'a> Chain<'a> {
    /// The chain in `captured`, the beginning of a message of `total_len` bytes (from `FF 'SMB'`, without the NetBIOS prefix). `None`
    /// unless it begins with the magic. Bytes beyond `total_len` belong to another message.
    pub fn new(captured: &'a [u8], total_len: usize) -> Option<Self> {
        let header = Header::new(captured.get(..total_len).unwrap_or(captured))?;
        let next = header.command().map(|command| (command, HEADER_LEN));
        Some(Self { header, total_len, position: 0, next, malformed: false })
    }

    /// The header of the message.
    pub fn header(&self) -> Header<'a> {
        self.header
    }

    /// Whether the chain so far is invalid: words beyond the end, an offset that goes backwards or out of the message, too many links.
    /// Earlier links remain valid.
    pub fn malformed(&self) -> bool {
        self.malformed
    }

    fn after(&mut self, link: &Link<'a>) -> Option<(u8, usize)> {
        let word_count = link.word_count?;
        if link.words_end() > self.total_len {
            self.malformed = true;
            return None;
        }
        if !command::is_andx(link.command) || word_count == 0 {
            return None;
        }
        if usize::from(word_count) * 2 < ANDX_LEN {
            self.malformed = true;
            return None;
        }
        let command = link.u8(ANDX_COMMAND).filter(|code| *code != command::NO_ANDX_COMMAND)?;
        let offset = usize::from(link.u16(ANDX_OFFSET)?);
        if offset < link.words_end() || offset >= self.total_len || self.position >= MAX_LINKS {
            self.malformed = true;
            return None;
        }
        Some((command, offset))
    }
}

impl<'a> Iterator for Chain<'a> {
    type Item = Link<'a>;

    fn next(&mut self) -> Option<Link<'a>> {
        let (command, offset) = self.next.take()?;
        let link = Link::new(self.header, self.position, command, offset);
        self.position += 1;
        self.next = self.after(&link);
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::{Build, words};
    use super::*;

    fn commands(message: &[u8]) -> (Vec<u8>, bool) {
        let mut chain = Chain::new(message, message.len()).unwrap();
        let commands = chain.by_ref().map(|link| link.command).collect();
        (commands, chain.malformed())
    }

    /// MS-CIFS 2.2.3.4: LOCKING_ANDX, WRITE_ANDX and a CLOSE, which ends the chain because it is no AndX command.
    fn lock_write_close() -> Vec<u8> {
        Build::request(command::LOCKING_ANDX)
            .block(&words(&[0xff, 0, 0x4000, 0, 0, 0, 0, 0]), &[])
            .and(command::WRITE_ANDX, &words(&[0xff, 0, 0x4000, 0, 0, 0, 0, 0, 0, 0, 3, 0]), b"abc")
            .and(command::CLOSE, &words(&[0x4000, 0, 0]), &[])
            .done()
    }

    #[test]
    fn every_command_of_a_chain_is_a_link() {
        let message = lock_write_close();
        assert_eq!(commands(&message), (vec![0x24, 0x2f, 0x04], false));
        let links: Vec<_> = Chain::new(&message, message.len()).unwrap().collect();
        assert_eq!(links[1].bytes, b"abc");
        assert_eq!(links[2].u16(0), Some(0x4000));
        assert_eq!((links[2].position, links[2].truncated), (2, false));
    }

    #[test]
    fn the_next_command_is_known_when_only_its_predecessor_was_captured() {
        let message = lock_write_close();
        let cut = HEADER_LEN + 1 + ANDX_LEN;
        let links: Vec<_> = Chain::new(&message[..cut], message.len()).unwrap().collect();
        assert_eq!(links.iter().map(|link| link.command).collect::<Vec<_>>(), [0x24, 0x2f]);
        assert!(links.iter().all(|link| link.truncated));
        assert_eq!((links[1].word_count, links[1].words.len()), (None, 0));
    }

    #[test]
    fn an_error_without_words_ends_the_chain() {
        let message = Build::response(command::SESSION_SETUP_ANDX).status(0xc000_006d).block(&[], &[]).done();
        assert_eq!(commands(&message), (vec![0x73], false));
    }

    #[test]
    fn loops_and_offsets_outside_are_malformed() {
        for offset in [0u16, 32, 33, 48, 0xffff] {
            let mut message = lock_write_close();
            message[HEADER_LEN + 3..HEADER_LEN + 5].copy_from_slice(&offset.to_le_bytes());
            assert_eq!(commands(&message), (vec![0x24], true), "offset {offset}");
        }
    }

    #[test]
    fn a_chain_ends_after_32_links() {
        let mut build = Build::request(command::LOGOFF_ANDX).block(&words(&[0xff, 0]), &[]);
        for _ in 0..100 {
            build = build.and(command::LOGOFF_ANDX, &words(&[0xff, 0]), &[]);
        }
        let (commands, malformed) = commands(&build.done());
        assert_eq!((commands.len(), malformed), (usize::from(MAX_LINKS), true));
    }

    #[test]
    fn words_beyond_the_message_are_malformed_and_cut_words_are_not() {
        let message = lock_write_close();
        let mut whole = Chain::new(&message[..40], 40).unwrap();
        assert!(whole.by_ref().last().is_some() && whole.malformed());
        let mut cut = Chain::new(&message[..34], message.len()).unwrap();
        assert!(cut.by_ref().last().unwrap().truncated && !cut.malformed());
    }
}
