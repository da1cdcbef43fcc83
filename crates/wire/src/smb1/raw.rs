//! Raw writes: a request with a first piece, an interim answer, a block without any header, and sometimes a final answer.
//! Spec: MS-CIFS 2.2.4.25

use super::andx::Link;
use super::command;

const FID: usize = 0;
const COUNT: usize = 2;
const OFFSET: usize = 6;
const TIMEOUT: usize = 10;
const MODE: usize = 14;
const DATA_LENGTH: usize = 20;
/// OffsetHigh: there if the request has fourteen words.
const OFFSET_HIGH: usize = 24;
/// Interim and final answer: Available, Count.
const RESPONSE_COUNT: usize = 0;

/// WriteMode: the server answers when the data is on disk, so a final answer (WRITE_COMPLETE) follows the block.
pub const MODE_WRITE_THROUGH: u16 = 0x0001;

/// A WRITE_RAW request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRaw {
    /// Open file.
    pub fid: u16,
    /// Bytes to write in all: those in this message and those in the block.
    pub count: u16,
    /// Bytes from the start of the file.
    pub offset: u64,
    /// How long the server may wait, in milliseconds (pipes and devices).
    pub timeout_ms: u32,
    /// WriteMode, the `MODE_…` bits.
    pub mode: u16,
    /// Bytes of data in this message.
    pub immediate: u16,
}

impl WriteRaw {
    /// The view of a WRITE_RAW request; `None` for other messages, or if a field is missing.
    pub fn new(link: &Link<'_>) -> Option<Self> {
        if link.command != command::WRITE_RAW || !link.is_request() {
            return None;
        }
        let low = u64::from(link.u32(OFFSET)?);
        let has_high = usize::from(link.word_count?) * 2 >= OFFSET_HIGH + 4;
        let high = if has_high { u64::from(link.u32(OFFSET_HIGH)?) } else { 0 };
        Some(Self {
            fid: link.u16(FID)?,
            count: link.u16(COUNT)?,
            offset: high << 32 | low,
            timeout_ms: link.u32(TIMEOUT)?,
            mode: link.u16(MODE)?,
            immediate: link.u16(DATA_LENGTH)?,
        })
    }

    /// Bytes of the block that follows the interim answer: the length of a NetBIOS message without SMB header.
    pub fn block_len(&self) -> u16 {
        self.count.saturating_sub(self.immediate)
    }

    /// Whether a final answer follows the block. Otherwise errors show up at the next use of the FID.
    pub fn expects_final(&self) -> bool {
        self.mode & MODE_WRITE_THROUGH != 0
    }
}

/// The meaning of a message during a raw write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send the block. `available` is for pipes only: 0xFFFF or without meaning otherwise.
    Interim {
        /// Bytes that can be read from the pipe.
        available: Option<u16>,
    },
    /// All is over (WRITE_COMPLETE): the block was written, or the request is refused and no block follows.
    Final {
        /// Bytes written; `None` if the answer has none (an error).
        count: Option<u16>,
    },
}

/// Reads a response of WRITE_RAW or WRITE_COMPLETE. An error under WRITE_RAW is final: no block follows.
pub fn answer(link: &Link<'_>) -> Option<Answer> {
    if !link.is_response() {
        return None;
    }
    match link.command {
        command::WRITE_RAW if link.header().status()?.is_error() => Some(Answer::Final { count: None }),
        command::WRITE_RAW => Some(Answer::Interim { available: link.u16(RESPONSE_COUNT) }),
        command::WRITE_COMPLETE => Some(Answer::Final { count: link.u16(RESPONSE_COUNT) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::{Build, first, words};
    use super::*;

    #[test]
    fn the_block_is_what_the_request_did_not_carry() {
        // MS-CIFS 2.2.4.25.1: FID, count, reserved, offset (32), timeout (32), mode, reserved (32), length, data offset.
        let all = words(&[0x4001, 0xffff, 0, 0x200, 0, 7, 0, MODE_WRITE_THROUGH, 0, 0, 3, 60, 1, 0]);
        let message = Build::request(command::WRITE_RAW).block(&all, b"abc").done();
        let write = WriteRaw::new(&first(&message)).unwrap();
        assert_eq!((write.fid, write.offset, write.timeout_ms), (0x4001, 0x1_0000_0200, 7));
        assert_eq!((write.block_len(), write.expects_final()), (0xfffc, true));
        let short = Build::request(command::WRITE_RAW).block(&all[..24], b"abc").done();
        assert_eq!(WriteRaw::new(&first(&short)).unwrap().offset, 0x200);
    }

    #[test]
    fn an_error_sends_no_block() {
        let interim = Build::response(command::WRITE_RAW).block(&words(&[0xffff]), &[]).done();
        assert_eq!(answer(&first(&interim)), Some(Answer::Interim { available: Some(0xffff) }));
        let refused = Build::response(command::WRITE_RAW).status(0xc000_0008).block(&[], &[]).done();
        assert_eq!(answer(&first(&refused)), Some(Answer::Final { count: None }));
        let done = Build::response(command::WRITE_COMPLETE).block(&words(&[12]), &[]).done();
        assert_eq!(answer(&first(&done)), Some(Answer::Final { count: Some(12) }));
    }
}
