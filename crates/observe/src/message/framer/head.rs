//! How much of a message is kept.

use plimsoll_wire::nfs::v4::CompoundReply;
use plimsoll_wire::rpc::{Protection, Reply};

use super::super::signature::MESSAGE_MAX;

/// Bytes kept of a message: more than any header with its names needs.
const HEAD_MAX: usize = 4_096;
/// Bytes kept of an SMB2 compound, whose later members lie behind the payload of earlier ones: all, because a WRITE alone may have 8 MiB.
/// `large.rs` bounds the sum over all streams.
const COMPOUND_MAX: usize = MESSAGE_MAX as usize;
/// Bytes kept of an NFS 4.2 answer to READ_PLUS, whose later segments lie behind the data of earlier ones: all, as for a compound.
const SEGMENTS_MAX: usize = MESSAGE_MAX as usize;
const OP_READ_PLUS: u32 = 68;
/// Bytes kept, where messages are decrypted, of those that lead to a session: more than a logon's token has room for.
const LOGON_MAX: usize = 128 << 10;

/// Bytes to keep of a message that begins with `head`; with `decrypts`, messages that decryption needs are kept whole.
pub(super) fn bytes_kept(head: &[u8], decrypts: bool) -> usize {
    match head {
        [0xfd, b'S', b'M', b'B', ..] if decrypts => MESSAGE_MAX as usize,
        _ if is_compound(head) => COMPOUND_MAX,
        [0xfe, b'S', b'M', b'B', ..] if decrypts && may_be_logon(head) => LOGON_MAX,
        _ if has_segments(head) => SEGMENTS_MAX,
        _ => HEAD_MAX,
    }
}

/// Bytes kept of a message of which as many bytes are kept so far as [`bytes_kept`] said. Its first packet may have ended before its
/// READ_PLUS, or in the header of a compound.
pub(super) fn bytes_kept_later(kept: &[u8]) -> usize {
    match kept.len() {
        HEAD_MAX | LOGON_MAX if is_compound(kept) => COMPOUND_MAX,
        HEAD_MAX if has_segments(kept) => SEGMENTS_MAX,
        len => len,
    }
}

/// An RPC reply with the results of a READ_PLUS. (Those of other programs are hardly taken for it, and are only kept longer.)
fn has_segments(head: &[u8]) -> bool {
    // The second word of a reply.
    if head.get(4..8) != Some(&[0, 0, 0, 1]) {
        return false;
    }
    let results = Reply::new(head).and_then(|reply| reply.results_under(Protection::None));
    results.is_some_and(|results| CompoundReply::new(results).operations().any(|result| result.code == OP_READ_PLUS))
}

/// An SMB2 header that says that another member follows.
#[inline]
fn is_compound(head: &[u8]) -> bool {
    head.starts_with(b"\xfeSMB") && head.get(20..24).is_some_and(|next| next != [0; 4])
}

/// An SMB2 header of NEGOTIATE or SESSION_SETUP, or one too short to tell.
fn may_be_logon(head: &[u8]) -> bool {
    head.get(12..14).is_none_or(|command| matches!(command, [0 | 1, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a reply with the result of SEQUENCE, PUTFH and this operation.
    fn reply(operation: u8) -> Vec<u8> {
        let sequence = [vec![0, 0, 0, 53], vec![0; 4 + 36]].concat();
        let words = |words: &[u8]| words.iter().flat_map(|&word| [0, 0, 0, word]).collect::<Vec<u8>>();
        // Xid, reply, accepted, no verifier, success; status, tag, three results.
        let head = words(&[9, 1, 0, 0, 0, 0, 0, 0, 3]);
        [head, sequence, words(&[22, 0, operation, 0, 1, 2, 0, 0, 7])].concat()
    }

    #[test]
    fn compounds_are_kept_longer_also_if_their_first_packet_is_short() {
        let mut head = [&b"\xfeSMB\x40"[..], &[0; 59]].concat();
        head[12] = 8;
        assert_eq!((bytes_kept(&head, false), bytes_kept(&head, true)), (HEAD_MAX, HEAD_MAX));
        head[20] = 112;
        assert_eq!((bytes_kept(&head, false), bytes_kept(&head[..23], false)), (COMPOUND_MAX, HEAD_MAX));
        let long = |len: usize| [head.clone(), vec![0; len - head.len()]].concat();
        assert_eq!(bytes_kept_later(&long(HEAD_MAX)), COMPOUND_MAX);
        assert_eq!((bytes_kept(&head[..4], true), bytes_kept_later(&long(LOGON_MAX))), (LOGON_MAX, COMPOUND_MAX));
        assert_eq!(bytes_kept_later(&long(COMPOUND_MAX)), COMPOUND_MAX);
    }

    #[test]
    fn answers_with_segments_are_kept_longer() {
        assert_eq!(bytes_kept(&reply(68), false), SEGMENTS_MAX);
        assert_eq!(bytes_kept(&reply(68)[..94], false), SEGMENTS_MAX, "as soon as its number is there");
        assert_eq!(bytes_kept(&reply(25), false), HEAD_MAX, "READ has its length before its data");
        let long = |operation| [reply(operation), vec![0; HEAD_MAX]].concat()[..HEAD_MAX].to_vec();
        assert_eq!((bytes_kept_later(&long(68)), bytes_kept_later(&long(25))), (SEGMENTS_MAX, HEAD_MAX));
        let mut call = reply(68);
        call[7] = 0;
        assert_eq!(
            (bytes_kept(&call, false), bytes_kept(&reply(68)[..90], false), bytes_kept(&[], false)),
            (HEAD_MAX, HEAD_MAX, HEAD_MAX)
        );
    }
}
