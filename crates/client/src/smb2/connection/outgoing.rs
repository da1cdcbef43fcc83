//! A message that is about to be sent: one request, or a compound of related ones.
//!
//! Spec: MS-SMB2 3.2.4.1.4

use std::ops::Range;
use std::sync::Arc;

use plimsoll_model::{Asked, Disposition, FileAccess};
use plimsoll_wire::smb2::{Call, Command, Head, TooLong, asked, compound, header};

use crate::content::Content;
use crate::smb2::request_kind::RequestKind;

/// A message without ids, signatures and framing, which it gets when it is sent.
#[derive(Debug, Default)]
pub(in crate::smb2) struct Outgoing {
    /// The requests, each but the first at a multiple of 8.
    pub(in crate::smb2) bytes: Vec<u8>,
    /// The requests.
    pub(in crate::smb2) members: Vec<Member>,
    /// Data after the last request.
    pub(in crate::smb2) data: Option<Data>,
}

/// A request of a message.
#[derive(Clone, Copy, Debug)]
pub(in crate::smb2) struct Member {
    /// Where it begins.
    pub(in crate::smb2) start: usize,
    /// Kind of the request.
    pub(in crate::smb2) kind: RequestKind,
    /// Credits that it costs from dialect 2.1 on.
    pub(in crate::smb2) charge: u16,
    /// The most bytes that its answer may bring, or that it writes.
    pub(in crate::smb2) asked: u32,
    /// Length of its file data.
    pub(in crate::smb2) payload: Option<u64>,
    /// It may wait by design.
    pub(in crate::smb2) may_wait: bool,
    /// Fields of the request for the columns of the transactions table.
    pub(in crate::smb2) wants: Asked,
}

/// File data that a WRITE brings.
#[derive(Clone, Debug)]
pub(in crate::smb2) struct Data {
    pub(in crate::smb2) content: Arc<Content>,
    pub(in crate::smb2) key: u64,
    pub(in crate::smb2) offset: u64,
    pub(in crate::smb2) length: u32,
}

impl Data {
    /// The ranges of the content block, in order.
    pub(in crate::smb2) fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        self.content.pieces(self.key, self.offset, self.length as usize)
    }
}

impl Clone for Outgoing {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), members: self.members.clone(), data: self.data.clone() }
    }

    /// Without an allocation if there is memory enough: a derived one would allocate.
    fn clone_from(&mut self, other: &Self) {
        let Self { bytes, members, data } = other;
        self.bytes.clone_from(bytes);
        self.members.clone_from(members);
        self.data.clone_from(data);
    }
}

impl Outgoing {
    /// Empties it for the next message.
    pub(in crate::smb2) fn clear(&mut self) {
        self.bytes.clear();
        self.members.clear();
        self.data = None;
    }

    /// Appends a request. All requests after the first use the file that the first opens.
    ///
    /// # Errors
    ///
    /// Where a name in it is too long for the protocol.
    pub(in crate::smb2) fn add<C: Call>(&mut self, kind: RequestKind, call: &C) -> Result<&mut Member, TooLong> {
        debug_assert_eq!(kind.command(), C::COMMAND);
        let flags = if self.members.is_empty() { 0 } else { header::FLAG_RELATED };
        let start = self.bytes.len().next_multiple_of(compound::ALIGNMENT);
        self.bytes.resize(start, 0);
        call.emit(&Head { flags, ..Head::default() }, &mut self.bytes)?;
        if let Some(before) = self.members.last() {
            // A compound of a few requests is far below 4 GiB.
            let next = (start - before.start) as u32;
            let place =
                self.bytes.get_mut(before.start + header::NEXT_COMMAND..).and_then(|rest| rest.first_chunk_mut());
            if let Some(place) = place {
                *place = next.to_le_bytes();
            }
        }
        let wants = wanted(C::COMMAND, self.bytes.get(start..).unwrap_or_default());
        let (charge, asked) = (header::charge(call.payload()), call.payload());
        self.members.push(Member { start, kind, charge, asked, payload: None, may_wait: false, wants });
        // It was just pushed.
        self.members.last_mut().ok_or(TooLong { field: "Compound", bytes: 0, most: 0 })
    }

    /// Credits that the message costs.
    pub(in crate::smb2) fn charge(&self) -> u32 {
        self.members.iter().map(|member| u32::from(member.charge)).sum()
    }

    /// Bytes of a member, with the padding that aligns the next one.
    pub(in crate::smb2) fn length(&self, position: usize) -> usize {
        let start = self.members.get(position).map_or(0, |member| member.start);
        match self.members.get(position + 1) {
            Some(next) => next.start - start,
            None => self.bytes.len() - start + self.data.as_ref().map_or(0, |data| data.length as usize),
        }
    }
}

/// Fields of the request for the transactions table. Names are not stored, because all names of a run are known before.
#[inline]
fn wanted(command: Command, request: &[u8]) -> Asked {
    let asked::Asked { offset, bytes, disposition, access, new_name: _, durable, unlock } =
        asked::Asked::of(command, request);
    let (disposition, access) = (disposition.and_then(Disposition::of_number), access.map(FileAccess::of_mask));
    Asked { offset, bytes, disposition, access, durable, unlock, ..Asked::default() }
}
