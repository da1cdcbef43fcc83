//! An SMB2 answer as the target `smb2_answers` makes it of any bytes.

use plimsoll_wire::smb2::header::{
    ASYNC_ID, COMMAND, FLAG_ASYNC, FLAG_RESPONSE, FLAGS, LEN, MAGIC, MESSAGE_ID, STATUS,
};
use plimsoll_wire::smb2::status::{
    STATUS_ACCESS_DENIED, STATUS_BUFFER_OVERFLOW, STATUS_BUFFER_TOO_SMALL, STATUS_INVALID_PARAMETER,
    STATUS_MORE_PROCESSING_REQUIRED, STATUS_NOTIFY_ENUM_DIR, STATUS_PENDING, STATUS_STOPPED_ON_SYMLINK, STATUS_SUCCESS,
};

/// Statuses that decide how a body is read, the most usual first.
pub const STATUSES: [u32; 9] = [
    STATUS_SUCCESS,
    STATUS_BUFFER_OVERFLOW,
    STATUS_MORE_PROCESSING_REQUIRED,
    STATUS_INVALID_PARAMETER,
    STATUS_ACCESS_DENIED,
    STATUS_BUFFER_TOO_SMALL,
    STATUS_STOPPED_ON_SYMLINK,
    STATUS_NOTIFY_ENUM_DIR,
    STATUS_PENDING,
];

/// Control bytes before the body: command, status and flags, the request's class (two), number of dropped bytes.
pub const CONTROLS: usize = 5;

/// An answer, and the request that it answers.
#[derive(Debug)]
pub struct Made {
    /// From the header on.
    pub bytes: Vec<u8>,
    /// Its length including dropped bytes.
    pub length: usize,
    /// What QUERY_INFO asked for.
    pub info_type: u8,
    /// What QUERY_INFO or QUERY_DIRECTORY asked for.
    pub class: u8,
}

impl Made {
    /// Of [`CONTROLS`] and a body. The high bits of the second byte make the answer asynchronous, or unasked.
    pub fn of(data: &[u8]) -> Option<Self> {
        let (&[command, how, info_type, class, more], body) = data.split_first_chunk::<CONTROLS>()?;
        let mut bytes = vec![0; LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = LEN as u8;
        bytes[COMMAND] = command;
        let status = STATUSES[usize::from(how & 0x0F) % STATUSES.len()];
        bytes[STATUS..STATUS + 4].copy_from_slice(&status.to_le_bytes());
        let flags = if how & 0x80 == 0 { FLAG_RESPONSE } else { FLAG_RESPONSE | FLAG_ASYNC };
        bytes[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_le_bytes());
        if how & 0x40 != 0 {
            bytes[MESSAGE_ID..ASYNC_ID].fill(0xFF);
        }
        bytes.extend_from_slice(body);
        let length = bytes.len() + usize::from(more);
        Some(Self { bytes, length, info_type, class })
    }
}
