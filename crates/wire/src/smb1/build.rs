//! Builds messages for tests, block by block, after MS-CIFS 2.2.3.

use super::command::is_andx;
use super::header::{FLAGS_REPLY, FLAGS2_NT_STATUS, FLAGS2_UNICODE, HEADER_LEN, MAGIC};
use super::{Chain, Link};

/// Little-endian words as bytes.
pub(super) fn words(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// UTF-16LE without a terminator.
pub(super) fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The first command of a message.
pub(super) fn first(message: &[u8]) -> Link<'_> {
    Chain::new(message, message.len()).unwrap().next().unwrap()
}

/// One message under construction.
#[derive(Clone)]
pub(super) struct Build {
    message: Vec<u8>,
    last_block: usize,
}

impl Build {
    pub(super) fn request(command: u8) -> Self {
        let mut message = vec![0; HEADER_LEN];
        message[..4].copy_from_slice(&MAGIC);
        message[4] = command;
        message[10..12].copy_from_slice(&FLAGS2_NT_STATUS.to_le_bytes());
        message[24..32].copy_from_slice(&[1, 0, 0xfe, 0xca, 100, 0, 7, 0]);
        Self { message, last_block: 0 }
    }

    pub(super) fn response(command: u8) -> Self {
        let mut build = Self::request(command);
        build.message[9] = FLAGS_REPLY;
        build
    }

    pub(super) fn unicode(mut self) -> Self {
        self.message[11] |= (FLAGS2_UNICODE >> 8) as u8;
        self
    }

    pub(super) fn status(mut self, status: u32) -> Self {
        self.message[5..9].copy_from_slice(&status.to_le_bytes());
        self
    }

    /// PID (low) and MID.
    pub(super) fn ids(mut self, pid: u16, mid: u16) -> Self {
        self.message[26..28].copy_from_slice(&pid.to_le_bytes());
        self.message[30..32].copy_from_slice(&mid.to_le_bytes());
        self
    }

    pub(super) fn block(mut self, words: &[u8], bytes: &[u8]) -> Self {
        assert_eq!(words.len() % 2, 0);
        self.last_block = self.message.len();
        self.message.push((words.len() / 2) as u8);
        self.message.extend(words);
        self.message.extend((bytes.len() as u16).to_le_bytes());
        self.message.extend(bytes);
        self
    }

    /// A further block, which the last one points to.
    pub(super) fn and(mut self, command: u8, words: &[u8], bytes: &[u8]) -> Self {
        if self.last_block == HEADER_LEN {
            assert!(is_andx(self.message[4]));
        }
        let (at, next) = (self.last_block + 1, self.message.len() as u16);
        self.message[at] = command;
        self.message[at + 2..at + 4].copy_from_slice(&next.to_le_bytes());
        self.block(words, bytes)
    }

    pub(super) fn done(self) -> Vec<u8> {
        self.message
    }
}
