//! Messages that are due where framing was lost. A header alone is a weak sign, because file data may be a capture. But such data have
//! neither the session of this connection nor an ID that is due now.

use plimsoll_wire::smb2::header::Header;
use plimsoll_wire::smb2::{Command, read, write};

use super::Smb2;

/// Message IDs that a request may be ahead of those before it; servers grant 8,192 credits.
const AHEAD_MAX: u64 = 8_192;

impl Smb2 {
    /// Whether a message of `len` bytes is the response to a READ that waits, or a WRITE behind the requests so far: its direction,
    /// session, ID and lengths are those that it must have.
    pub(crate) fn is_due(&mut self, bytes: &[u8], len: u32, direction: usize) -> bool {
        let Some(header) = Header::new(bytes).filter(|header| header.next_command() == 0) else { return false };
        let (Some(id), Some(session), Some(client)) = (header.message_id(), header.session_id(), self.client) else {
            return false;
        };
        if header.is_response() == (client == direction) {
            return false;
        }
        let session = Some(session).filter(|session| *session != 0);
        match header.command() {
            Command::Read if header.is_response() => {
                let data = data_read(bytes, len);
                self.waiting.get_mut(id).is_some_and(|waiting| {
                    let is_asked = waiting.pending.asked.bytes.zip(data).is_some_and(|(asked, data)| data <= asked);
                    is_asked && waiting.command == header.command_code() && waiting.pending.session == session
                })
            }
            Command::Write if !header.is_response() => {
                let ahead = self.highest.filter(|_| !self.guessed).and_then(|highest| id.checked_sub(highest));
                let is_next = ahead.is_some_and(|ahead| (1..=AHEAD_MAX).contains(&ahead));
                let is_whole = is_next && is_whole_write(bytes, len);
                is_whole && self.waiting.iter().any(|waiting| waiting.pending.session == session)
            }
            _ => false,
        }
    }
}

/// The number of bytes that a READ response brings, if they fill its message.
fn data_read(bytes: &[u8], len: u32) -> Option<u64> {
    let response = read::Response::new(bytes)?;
    let (offset, data) = (u32::from(response.data_offset()?), response.data_len()?);
    (offset.checked_add(data) == Some(len)).then_some(u64::from(data))
}

/// Whether the data of a WRITE request fill its message.
fn is_whole_write(bytes: &[u8], len: u32) -> bool {
    let request = write::Request::new(bytes);
    let end = request.and_then(|request| u32::from(request.data_offset()?).checked_add(request.data_len()?));
    end == Some(len)
}
