//! Turns a server with durable handles into one with persistent handles, as far as a client can see.

use plimsoll_wire::smb2::{Command, Header, negotiate, tree_connect};

/// Bytes of the framing in front of a message.
const PREFIX: usize = 4;
/// A response's durable handle: from the name of the context to its flags (MS-SMB2 2.2.13.2, 2.2.14.2.12).
const FLAGS: usize = 8 + 4;
/// SMB2_DHANDLE_FLAG_PERSISTENT.
const PERSISTENT: u8 = 0x02;

/// Adds to a response what a server with persistent handles says.
pub(super) fn grant(message: &mut [u8]) {
    let Some(bytes) = message.get_mut(PREFIX..) else { return };
    let found = match Header::new(bytes).map(|header| header.command()) {
        Some(Command::Negotiate) => Some((negotiate::RESPONSE_CAPABILITIES, negotiate::CAP_PERSISTENT_HANDLES as u8)),
        Some(Command::TreeConnect) => {
            Some((tree_connect::SHARE_CAPABILITIES, tree_connect::SHARE_CONTINUOUS_AVAILABILITY as u8))
        }
        Some(Command::Create) => {
            bytes.windows(4).position(|name| name == b"DH2Q").map(|name| (name + FLAGS, PERSISTENT))
        }
        _ => None,
    };
    // The flags are in the first byte of the field.
    if let Some((place, flag)) = found.and_then(|(at, flag)| Some((bytes.get_mut(at)?, flag))) {
        *place |= flag;
    }
}
