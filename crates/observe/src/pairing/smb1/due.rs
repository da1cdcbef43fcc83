//! Responses that are due where framing was lost, as in SMB2.

use plimsoll_wire::smb1::andx::Chain;
use plimsoll_wire::smb1::{command, read};

use super::Smb1;
use super::arrival::Fields;

/// Header, words, byte count and padding of a READ_ANDX response, bytes.
const BEFORE_DATA: std::ops::RangeInclusive<u64> = 59..=67;

impl Smb1 {
    /// Whether a message of `len` bytes is the response to a READ_ANDX that waits: its direction, IDs and lengths are those that it must
    /// have.
    pub(crate) fn is_due(&mut self, bytes: &[u8], len: u32, direction: usize) -> bool {
        let Some(mut chain) = Chain::new(bytes, usize::try_from(len).unwrap_or(usize::MAX)) else { return false };
        let header = chain.header();
        let Some(fields) = Fields::of(&header).filter(|fields| fields.is_response) else { return false };
        let first = chain.next().filter(|first| first.command == command::READ_ANDX);
        let Some(data) = first.and_then(|first| read::data_length(&first)).map(u64::from) else { return false };
        let is_whole = u64::from(len).checked_sub(data).is_some_and(|before| BEFORE_DATA.contains(&before));
        let waiting = self.waiting.get_mut(fields.id).filter(|exchange| exchange.awaits(command::READ_ANDX, direction));
        is_whole
            && waiting.is_some_and(|exchange| {
                let is_asked = exchange.first.pending.asked.bytes.is_some_and(|asked| data <= asked);
                is_asked && (exchange.tid, exchange.uid) == (fields.tid, fields.uid)
            })
    }
}
