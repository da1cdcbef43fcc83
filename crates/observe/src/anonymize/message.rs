//! One anonymised message: marked fields are copied or replaced, all other bytes are zero.

use plimsoll_wire::marks::{Mark, Marks};
use plimsoll_wire::{rpc, smb1, smb2};

use super::address;
use super::key::{Key, Kind};
use super::name;

/// The kind of a message, from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Smb1,
    Smb2,
    Rpc,
}

impl Protocol {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xff, b'S', b'M', b'B', ..] => Self::Smb1,
            [0xfc..=0xfe, b'S', b'M', b'B', ..] => Self::Smb2,
            _ => Self::Rpc,
        }
    }
}

/// Calls by xid: a reply does not name its procedure.
pub(super) trait Calls {
    /// A call was seen.
    fn called(&mut self, xid: u32, asked: rpc::Asked);
    /// The call with this xid.
    fn asked(&self, xid: u32) -> Option<rpc::Asked>;
}

/// The captured bytes of a message of `len` bytes, anonymised.
pub(super) fn without_names(bytes: &[u8], len: u64, key: &Key, calls: &mut impl Calls) -> Vec<u8> {
    let mut marks = Marks::new(bytes);
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    match Protocol::of(bytes) {
        Protocol::Smb1 => smb1::mark(len, &mut marks),
        Protocol::Smb2 => smb2::mark(len, &mut marks),
        Protocol::Rpc => match rpc::mark_call(&mut marks) {
            Some((xid, asked)) => calls.called(xid, asked),
            // Data that is not a reply either has no marks.
            None => drop(rpc::mark_reply(|xid| calls.asked(xid), &mut marks)),
        },
    }
    let mut out = vec![0; bytes.len()];
    for (range, mark) in marks.iter() {
        let (Some(to), Some(from)) = (out.get_mut(range.clone()), bytes.get(range)) else { continue };
        to.copy_from_slice(from);
        match mark {
            Mark::Number => {}
            Mark::Wide => name::wide(key, to),
            Mark::Narrow => name::narrow(key, to),
            Mark::Id => key.replace(Kind::Id, to),
            Mark::User => to.as_chunks_mut::<4>().0.iter_mut().for_each(|number| {
                *number = address::user(key, u32::from_be_bytes(*number)).to_be_bytes();
            }),
        }
    }
    out
}
