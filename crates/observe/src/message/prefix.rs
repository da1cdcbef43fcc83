//! Prefixes of messages: a type and a length, or a record mark; and how they delimit messages.
//!
//! Spec: RFC 1002 4.3.1; MS-SMB2 2.1; RFC 5531 11.

use plimsoll_wire::{nbss, rpc};
use serde::{Deserialize, Serialize};

use super::Content;
use super::signature::{self, MESSAGE_MAX, RPC_NEED, SMB_NEED};

/// Length of either.
pub(super) const MARK_LEN: usize = 4;

/// How messages are delimited on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Framing {
    /// Not recognised yet.
    #[default]
    Unknown,
    /// NetBIOS session service or direct TCP: a type byte and a 24-bit length.
    Smb,
    /// ONC RPC record marking.
    Rpc,
}

/// Meaning of the bytes before a message.
pub(super) struct Prefix {
    /// Payload length behind the prefix (of the first fragment).
    pub(super) len: u64,
    pub(super) more_fragments: bool,
    pub(super) content: Content,
}

/// The result of reading a prefix.
pub(super) enum Parsed {
    Ok(Prefix),
    /// More bytes are needed to tell.
    More,
    /// No message begins here.
    Wrong,
}

/// Reads the prefix of a message and checks the signature behind it.
#[inline]
pub(super) fn prefix(framing: Framing, bytes: &[u8], allow_raw: bool) -> Parsed {
    match framing {
        Framing::Smb => smb_prefix(bytes, allow_raw),
        Framing::Rpc => rpc_prefix(bytes),
        Framing::Unknown => Parsed::Wrong,
    }
}

#[inline]
fn smb_prefix(bytes: &[u8], allow_raw: bool) -> Parsed {
    let Some(header) = nbss::Header::parse(bytes) else {
        return if bytes.len() < nbss::PREFIX_LEN { Parsed::More } else { Parsed::Wrong };
    };
    let len = u64::from(header.length);
    let ok = |content| Parsed::Ok(Prefix { len, more_fragments: false, content });
    if header.kind != nbss::MESSAGE {
        // Session requests and keep-alives are short; a longer message with such a type is not valid.
        return if header.is_known() && len < 256 { ok(Content::Service(header.kind)) } else { Parsed::Wrong };
    }
    if len < 4 {
        return if allow_raw { ok(Content::Raw) } else { Parsed::Wrong };
    }
    if bytes.len() < SMB_NEED {
        return Parsed::More;
    }
    if signature::is_smb(bytes) {
        ok(Content::Message)
    } else if allow_raw {
        ok(Content::Raw)
    } else {
        Parsed::Wrong
    }
}

#[inline]
fn rpc_prefix(bytes: &[u8]) -> Parsed {
    let Some(mark) = bytes.first_chunk::<MARK_LEN>() else { return Parsed::More };
    let mark = u32::from_be_bytes(*mark);
    let len = u64::from(mark & 0x7fff_ffff);
    if !(8..=MESSAGE_MAX).contains(&len) {
        return Parsed::Wrong;
    }
    if bytes.len() < RPC_NEED.min(MARK_LEN + len as usize) {
        return Parsed::More;
    }
    // Bytes after the record belong to the next one, and the search does not examine them either.
    let body = bytes.get(MARK_LEN..).unwrap_or_default();
    let body = body.get(..len as usize).unwrap_or(body);
    // A message begins here, so a call may be one of a program that no table lists (NFS_LOCALIO beside NFS).
    if rpc::plausible_message(body).is_some() || rpc::plausible_record_of_any_program(bytes) {
        Parsed::Ok(Prefix { len, more_fragments: mark >> 31 == 0, content: Content::Message })
    } else {
        Parsed::Wrong
    }
}
