//! Recognises a message by its header: on any port, and after a loss.

use plimsoll_wire::smb2::{self, Command};
use plimsoll_wire::{nbss, rpc};

use super::Framing;

/// The largest message that is believed: SMB's 24-bit length, and more than NFS servers offer.
pub(super) const MESSAGE_MAX: u64 = 16 << 20;
/// Behind the NetBIOS prefix: enough to see the protocol id.
pub(super) const SMB_NEED: usize = nbss::PREFIX_LEN + 4;
/// Behind the record mark: enough to see an RPC call's procedure.
pub(super) const RPC_NEED: usize = 4 + rpc::CALL_HEADER;
/// Enough to see a message of any of the framings.
pub const HEADER_NEED: usize = if RPC_NEED > SMB_NEED { RPC_NEED } else { SMB_NEED };
/// The smallest SMB message: an SMB1 header with no words and no bytes.
const SMB_MIN: u32 = 32;

/// Which framing the beginning of a stream, or of a segment in its midst, shows; `None` where it does not show any.
#[inline]
pub fn recognise(bytes: &[u8]) -> Option<Framing> {
    if is_smb(bytes) {
        Some(Framing::Smb)
    } else if bytes.len() >= RPC_NEED && matches!(rpc::plausible_record(bytes), Some((_, rpc::Message::Call))) {
        Some(Framing::Rpc)
    } else {
        None
    }
}

/// Whether an RPC call of any program begins here, also of one that is not part of a file service.
pub fn is_call(bytes: &[u8]) -> bool {
    rpc::plausible_record_of_any_program(bytes)
}

/// Whether RPC replies fill a segment of `wire_len` bytes exactly, from its first byte on.
pub fn is_reply(bytes: &[u8], wire_len: usize) -> bool {
    let Some((mark, rpc::Message::Reply)) = rpc::plausible_record(bytes) else { return false };
    let end = rpc::RecordMark::SIZE + mark.length as usize;
    let next =
        || bytes.get(end..).is_some_and(|next| matches!(rpc::plausible_record(next), Some((_, rpc::Message::Reply))));
    end == wire_len || next()
}

/// Whether an SMB message with its prefix begins here.
#[inline]
pub(super) fn is_smb(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<SMB_NEED>() else { return false };
    let length = u32::from_be_bytes([0, head[1], head[2], head[3]]);
    head[0] == nbss::MESSAGE && length >= SMB_MIN && is_smb_magic(&head[4..])
}

/// FF 'SMB' (SMB1), FE 'SMB' (SMB2), FD 'SMB' (encrypted), FC 'SMB' (compressed).
#[inline]
pub(super) fn is_smb_magic(bytes: &[u8]) -> bool {
    bytes.len() >= 4 && bytes[0] >= 0xfc && bytes[1..4] == *b"SMB"
}

/// Where the next message begins in a segment, framing having been lost.
///
/// A message that begins where the segment does is believed at once; one further in must lead to the end of the
/// segment or to another header, for payload may look like anything. `beyond` is given the ends of messages that lie behind the segment.
pub(super) fn find(framing: Framing, bytes: &[u8], beyond: impl FnMut(usize)) -> Option<usize> {
    match framing {
        Framing::Unknown => None,
        Framing::Smb => find_smb(bytes, beyond),
        Framing::Rpc => find_rpc(bytes, beyond),
    }
}

/// Whether a message begins here that makes sense as far as captured, framing having been lost.
pub(super) fn begins(framing: Framing, bytes: &[u8]) -> bool {
    match framing {
        Framing::Unknown => false,
        Framing::Smb => is_sound_smb(bytes),
        Framing::Rpc => rpc::plausible_record(bytes).is_some(),
    }
}

/// A call's header is a strong sign anywhere. A reply's is weak (libraries and archives hold hundreds by chance), so
/// one inside a segment must also lead to another record or exactly to the segment's end.
fn find_rpc(bytes: &[u8], mut beyond: impl FnMut(usize)) -> Option<usize> {
    let mut from = 0;
    loop {
        let (found, mark, kind) = rpc::find_record(bytes.get(from..)?)?;
        let at = from + found;
        let end = at + rpc::RecordMark::SIZE + mark.length as usize;
        let leads_on = || match bytes.get(end..) {
            Some([]) => true,
            Some(next) => rpc::plausible_record(next).is_some(),
            None => false,
        };
        if end > bytes.len() {
            beyond(end);
        }
        if at == 0 || kind == rpc::Message::Call || leads_on() {
            return Some(at);
        }
        from = at + 1;
    }
}

/// A header of SMB is a weak sign: a file may be a capture, or the image of a memory. Only one that is due needs no other sign
/// ([`smb_headers`]).
fn find_smb(bytes: &[u8], mut beyond: impl FnMut(usize)) -> Option<usize> {
    if is_sound_smb(bytes) {
        return Some(0);
    }
    memchr::memmem::find_iter(bytes, b"SMB").find_map(|at| {
        let start = at.checked_sub(5)?;
        let rest = bytes.get(start..)?;
        let header = nbss::Header::parse(rest).filter(|_| is_sound_smb(rest))?;
        let Some(next) = rest.get(header.total_len()..) else {
            beyond(start + header.total_len());
            return None;
        };
        (next.len() < SMB_NEED || is_smb(next)).then_some(start)
    })
}

/// SMB headers in these bytes that make sense: where their prefixes stand, the lengths of the messages, and the bytes from the headers on.
pub fn smb_headers(bytes: &[u8]) -> impl Iterator<Item = (usize, u32, &[u8])> {
    memchr::memmem::find_iter(bytes, b"SMB").filter_map(move |at| {
        let start = at.checked_sub(nbss::PREFIX_LEN + 1)?;
        let rest = bytes.get(start..)?;
        let prefix = nbss::Header::parse(rest).filter(|_| is_sound_smb(rest))?;
        Some((start, prefix.length, rest.get(nbss::PREFIX_LEN..)?))
    })
}

/// Whether an SMB message with its prefix begins here whose header makes sense as far as captured.
fn is_sound_smb(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(nbss::PREFIX_LEN..).filter(|_| is_smb(bytes)) else { return false };
    let field = |at: usize| header.get(at..)?.first_chunk::<2>().map(|field| u16::from_le_bytes(*field));
    !header.starts_with(&smb2::header::MAGIC)
        || (field(smb2::header::STRUCTURE_SIZE).is_none_or(|size| usize::from(size) == smb2::header::LEN)
            && field(smb2::header::COMMAND).is_none_or(|code| !matches!(Command::from_code(code), Command::Unknown(_))))
}
