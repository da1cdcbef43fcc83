//! From an outgoing message to bytes in the outbox: credits, ids, signatures, seal, framing.
//!
//! Spec: MS-SMB2 3.2.4.1

use std::ops::Range;

use plimsoll_model::Asked;
use plimsoll_wire::nbss;
use plimsoll_wire::smb2::{header, transform};

use super::outgoing::{Member, Outgoing};
use super::{Connection, Owner, RequestContext};
use crate::calls::Call;
use crate::outbox::Outbox;
use crate::smb2::options::Dialect;
use crate::smb2::request_kind::RequestKind;

/// Protection of a message, if it differs from the session's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::smb2) enum Protection {
    /// As the session requires.
    Usual,
    /// Signed even if the session does not require it (but not if the message is encrypted).
    Signed,
    /// Not at all: there is no session yet.
    None,
}

/// Position of a message in the outbox.
struct Place {
    /// Length without the transport's prefix.
    transport: usize,
    /// The first header.
    header: usize,
    /// It will be sealed.
    sealed: bool,
    /// Length with the transport's prefix, bytes.
    length: u64,
}

impl Connection {
    /// Puts a message into the outbox without checking credits, and stores its requests as calls. Takes the message over if it may have to
    /// be sent again, and leaves an empty one behind. Returns the position of its first header in the outbox.
    pub(in crate::smb2) fn send(
        &mut self,
        outgoing: &mut Outgoing,
        owner: &Owner,
        protection: Protection,
        now: i64,
        out: &mut Outbox,
    ) -> usize {
        let place = self.frame_out(outgoing, protection, out);
        let first = self.stamp(outgoing, out.patch(place.header));
        self.protect(outgoing, &place, protection, out);
        let begins = out.end() - place.length;
        self.remember(outgoing, owner, first, now, begins..out.end());
        if let Some(messages) = &mut self.sent_messages {
            messages.add(first, outgoing, owner.job, now);
        }
        place.header
    }

    /// Puts a CANCEL into the outbox. It costs no credits, and has the ID of the request that it cancels.
    pub(in crate::smb2) fn send_cancel(&mut self, outgoing: &Outgoing, id: u64, is_async: bool, out: &mut Outbox) {
        let place = self.frame_out(outgoing, Protection::Usual, out);
        let header = out.patch(place.header);
        set(header, header::MESSAGE_ID, id.to_le_bytes());
        set(header, header::SESSION_ID, self.session.id.to_le_bytes());
        if !is_async {
            set(header, header::TREE_ID, self.session.tree.to_le_bytes());
        }
        self.protect(outgoing, &place, Protection::Usual, out);
    }

    /// Appends the transport's prefix, space for an encryption header if needed, and the message.
    fn frame_out(&self, outgoing: &Outgoing, protection: Protection, out: &mut Outbox) -> Place {
        let sealed = protection != Protection::None && self.session.seals;
        let data = outgoing.data.as_ref().map_or(0, |data| data.length as usize);
        let room = if sealed { transform::ENCRYPTED_LEN } else { 0 };
        // Far below the 16 MiB that a transport message may have: requests are cut to 8 MiB.
        let length = (room + outgoing.bytes.len() + data) as u32;
        let start = out.write(|bytes| {
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.resize(bytes.len() + room, 0);
            bytes.extend_from_slice(&outgoing.bytes);
            if let Some(data) = outgoing.data.as_ref().filter(|_| sealed) {
                let block = data.content.block();
                data.pieces().filter_map(|piece| block.get(piece)).for_each(|piece| bytes.extend_from_slice(piece));
            }
        });
        let transport = start + nbss::PREFIX_LEN;
        let length = u64::from(length) + nbss::PREFIX_LEN as u64;
        Place { transport, header: transport + room, sealed, length }
    }

    /// Signs or encrypts the message in the outbox, and appends data that are not in it.
    fn protect(&mut self, outgoing: &Outgoing, place: &Place, protection: Protection, out: &mut Outbox) {
        if place.sealed {
            // There is room for its header, it is below 4 GiB, and a key is good for more messages than anybody sends.
            let sealed = self.session.seal.as_mut().map(|seal| seal.0.seal(out.patch(place.transport)));
            debug_assert!(matches!(sealed, Some(Ok(()))), "{sealed:?}");
            return;
        }
        // Dialect 3.1.1 signs this request even if it signs no others (MS-SMB2 3.2.4.1.1).
        let connects = outgoing.members.iter().any(|member| member.kind == RequestKind::TreeConnect);
        let signs = self.session.signs || connects && self.limits.dialect == Dialect::V311;
        if protection == Protection::Signed || protection == Protection::Usual && signs {
            self.sign(outgoing, out.patch(place.header));
        }
        if let Some(data) = &outgoing.data {
            data.pieces().for_each(|piece| out.share(data.content.block(), piece));
        }
    }

    /// Sets the last fields of the headers. Returns the ID of the first request.
    fn stamp(&mut self, outgoing: &Outgoing, message: &mut [u8]) -> u64 {
        let (session, tree, sequence) = (self.session.id, self.session.tree, self.session.sequence);
        let mut first = None;
        for member in &outgoing.members {
            let charge = self.charge(member);
            // The first one asks for all that is missing.
            let asked = if first.is_none() { self.credits.ask(charge) } else { charge.max(1) };
            let id = self.credits.spend(charge);
            first.get_or_insert(id);
            let without = member.kind.is_outside_of_shares() || member.kind == RequestKind::TreeConnect;
            let tree = if without { 0 } else { tree };
            let Some(header) = message.get_mut(member.start..) else { continue };
            set(header, header::CREDIT_CHARGE, charge.to_le_bytes());
            set(header, header::CREDITS, asked.to_le_bytes());
            set(header, header::CHANNEL_SEQUENCE, sequence.to_le_bytes());
            set(header, header::MESSAGE_ID, id.to_le_bytes());
            set(header, header::TREE_ID, tree.to_le_bytes());
            set(header, header::SESSION_ID, session.to_le_bytes());
        }
        first.unwrap_or_default()
    }

    /// The CreditCharge field of a request: 0 unless multi-credit requests were negotiated.
    fn charge(&self, member: &Member) -> u16 {
        if self.limits.multi_credit { member.charge } else { u16::from(self.limits.dialect > Dialect::V202) }
    }

    fn sign(&self, outgoing: &Outgoing, message: &mut [u8]) {
        let Some(signer) = &self.session.signer else { return };
        for (position, member) in outgoing.members.iter().enumerate() {
            let end = outgoing.members.get(position + 1).map_or(message.len(), |next| next.start);
            let Some(part) = message.get_mut(member.start..end) else { continue };
            // A signature fails for want of a header alone, and every part has one.
            let signed = match outgoing.data.as_ref().filter(|_| position + 1 == outgoing.members.len()) {
                None => signer.sign(part, &[]),
                Some(data) => {
                    let block = data.content.block();
                    let pieces: Vec<&[u8]> = data.pieces().filter_map(|piece| block.get(piece)).collect();
                    signer.sign(part, &pieces)
                }
            };
            debug_assert!(signed.is_ok(), "{signed:?}");
        }
    }

    /// Makes a call of each request.
    fn remember(&mut self, outgoing: &Outgoing, owner: &Owner, first: u64, now: i64, stream: Range<u64>) {
        let alone = outgoing.members.len() == 1;
        let Owner { job, intended, path, file, keep } = *owner;
        let mut id = first;
        for (position, member) in outgoing.members.iter().enumerate() {
            let charge = self.charge(member).max(1);
            let procedure = member.kind.procedure();
            let long_lived = procedure.row().long_lived;
            self.long_lived += usize::from(long_lived);
            let (kind, asked, may_wait) = (member.kind, member.asked, member.may_wait);
            self.calls.add(Call {
                id,
                procedure,
                compound_position: (!alone).then_some(position as u16),
                intended,
                path,
                asked: Asked { file: file.filter(|_| !member.kind.is_outside_of_shares()), ..member.wants },
                session: self.session.id(),
                request_bytes: u32::try_from(outgoing.length(position)).unwrap_or(u32::MAX),
                payload_bytes: member.payload,
                begins: stream.start,
                ends: stream.end,
                sent: None,
                interim: None,
                long_lived,
                context: RequestContext { job, kind, charge, asked, may_wait, keep, async_id: None, queued: now },
            });
            id += u64::from(charge);
        }
    }
}

/// Stores bytes at a place inside a header, which every request has.
fn set<const N: usize>(header: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(place) = header.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = bytes;
    }
}
