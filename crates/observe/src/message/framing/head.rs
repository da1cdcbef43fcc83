//! How much of a message is kept.

use super::super::signature::MESSAGE_MAX;

/// Bytes kept of a message: more than any header with its names needs.
const HEAD_MAX: usize = 4_096;
/// Bytes kept of an SMB2 compound, whose later members lie behind the payload of earlier ones.
const COMPOUND_MAX: usize = 2 << 20;
/// Bytes kept, where messages are decrypted, of those that lead to a session: more than a logon's token has room for.
const LOGON_MAX: usize = 128 << 10;

/// Bytes to keep of a message that begins with `head`; with `decrypts`, messages that decryption needs are kept whole.
pub(super) fn bytes_kept(head: &[u8], decrypts: bool) -> usize {
    match head {
        [0xfd, b'S', b'M', b'B', ..] if decrypts => MESSAGE_MAX as usize,
        _ if is_compound(head) => COMPOUND_MAX,
        [0xfe, b'S', b'M', b'B', ..] if decrypts && may_be_logon(head) => LOGON_MAX,
        _ => HEAD_MAX,
    }
}

/// An SMB2 header that says that another member follows.
#[inline]
fn is_compound(head: &[u8]) -> bool {
    head.first() == Some(&0xfe) && head.get(20..24).is_some_and(|next| next != [0; 4])
}

/// An SMB2 header of NEGOTIATE or SESSION_SETUP, or one too short to tell.
fn may_be_logon(head: &[u8]) -> bool {
    head.get(12..14).is_none_or(|command| matches!(command, [0 | 1, 0]))
}
