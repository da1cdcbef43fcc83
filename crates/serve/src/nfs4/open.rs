//! OPEN, OPEN_DOWNGRADE and CLOSE.
//!
//! Spec: RFC 8881 18.16, RFC 8881 18.18, RFC 8881 18.2

use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_wire::nfs::v4::StateId;
use plimsoll_wire::xdr::{Emit, Strict};

use super::compound::{Compound, Place};
use super::limits::LONGEST_OWNER;
use super::names::{change_id, name, put_change};
use super::opens::{Kind as StateKind, Share};
use super::set_attributes::Wanted;
use super::state_checks::WRITE;
use super::status::{Done, Status};
use crate::memory::{Change, Kind, New, Node};

/// Access and denial: read, write, both.
const SHARE: u32 = 3;
/// The wish for a delegation, and bits beside it that a client may set.
const WISH: u32 = 0xFF00;
const SIGNALS: u32 = 0x3_0000;
/// OPEN4_SHARE_ACCESS_WANT_NO_DELEG.
const NO_DELEGATION: u32 = 0x0400;
/// OPEN4_RESULT_LOCKTYPE_POSIX.
const POSIX_LOCKS: u32 = 4;
/// What CLOSE returns in place of a state ID (RFC 8881 18.2.4).
const CLOSED: StateId = StateId { sequence: u32::MAX, other: [0; 12] };

/// What happens where the file is or is not there.
enum How {
    Existing,
    Unchecked(Wanted),
    Guarded(Wanted),
    /// EXCLUSIVE4, and EXCLUSIVE4_1 with attributes.
    Once([u8; 8], Option<Wanted>),
}

/// Which file.
enum Claim<'a> {
    Name(&'a [u8]),
    Current,
}

/// OPEN's arguments.
struct Opening<'a> {
    share: Share,
    wish: u32,
    owner: &'a [u8],
    how: How,
    claim: Claim<'a>,
}

impl<'a> Opening<'a> {
    fn parse(reader: &mut Strict<'a>) -> Done<Self> {
        reader.u32()?;
        let (access, deny) = (reader.u32()?, reader.u32()?);
        // The client's id is that of its session.
        reader.u64()?;
        let owner = reader.opaque(LONGEST_OWNER)?;
        let how = match reader.u32()? {
            0 => How::Existing,
            1 => match reader.u32()? {
                0 => How::Unchecked(Wanted::parse(reader)?),
                1 => How::Guarded(Wanted::parse(reader)?),
                2 => How::Once(reader.array()?, None),
                3 => How::Once(reader.array()?, Some(Wanted::parse(reader)?)),
                _ => return Err(Status::BADXDR),
            },
            _ => return Err(Status::BADXDR),
        };
        let claim = match reader.u32()? {
            0 => Claim::Name(name(reader)?),
            // Nothing survives a restart of the server, and there are no delegations.
            1 => return Err(Status::NO_GRACE),
            2 | 3 | 5 | 6 => return Err(Status::NOTSUPP),
            4 => Claim::Current,
            _ => return Err(Status::BADXDR),
        };
        if access & !(SHARE | WISH | SIGNALS) != 0 || access & SHARE == 0 || deny & !SHARE != 0 {
            return Err(Status::INVAL);
        }
        let share = Share { access: access & SHARE, deny };
        Ok(Self { share, wish: access & WISH, owner, how, claim })
    }
}

impl Compound<'_, '_> {
    pub(super) fn open(&mut self) -> Done {
        let opening = Opening::parse(&mut self.reader)?;
        if !self.client()?.reclaimed.load(Ordering::Relaxed) {
            return Err(Status::GRACE);
        }
        let within = match opening.claim {
            Claim::Name(_) => self.directory()?,
            Claim::Current => self.file()?,
        };
        let before = change_id(&within);
        let (node, set, truncates) = self.find_or_make(&within, &opening)?;
        match node.kind() {
            Kind::File => {}
            Kind::Directory => return Err(Status::ISDIR),
            Kind::Link => return Err(Status::SYMLINK),
        }
        if opening.share.access & WRITE != 0 || truncates.is_some() {
            self.server.may_change(&node)?;
        }
        let state = self.admit(&node, &opening)?;
        if let Some(change) = truncates {
            node.set(&change)?;
        }
        state.emit(self.out);
        put_change(self.out, before, change_id(&within));
        self.out.put_u32(POSIX_LOCKS);
        match set {
            Some(wanted) => wanted.put_mask(self.out),
            None => self.out.put_u32(0),
        }
        put_no_delegation(opening.wish, self.out);
        self.current = Some(Place { node, state: Some(state) });
        Ok(())
    }

    /// Opens; clients whose lease has expired do not stand in the way.
    fn admit(&self, node: &Arc<Node>, opening: &Opening<'_>) -> Done<StateId> {
        let client = self.client()?;
        let open = || self.server.opens.write().open(client, opening.owner, node, opening.share);
        match open() {
            Err(Status::SHARE_DENIED | Status::DELAY) => {
                self.server.expire();
                open()
            }
            opened => opened,
        }
    }

    /// The file, which attributes were set, and a change that must wait until it is open.
    fn find_or_make(
        &self,
        within: &Arc<Node>,
        opening: &Opening<'_>,
    ) -> Done<(Arc<Node>, Option<Wanted>, Option<Change>)> {
        let Claim::Name(name) = opening.claim else {
            return match &opening.how {
                How::Existing => Ok((Arc::clone(within), None, None)),
                How::Unchecked(wanted) => Ok((Arc::clone(within), Some(wanted.only_size()), truncation(wanted))),
                How::Guarded(_) | How::Once(..) => Err(Status::EXIST),
            };
        };
        if !matches!(opening.how, How::Existing) {
            self.server.may_change(within)?;
        }
        let system = &self.server.system;
        match &opening.how {
            How::Existing => Ok((within.lookup(name)?, None, None)),
            How::Guarded(wanted) => Ok((system.make(within, name, New::File, &wanted.change)?, Some(*wanted), None)),
            How::Once(verifier, wanted) => {
                let node = system.make_once(within, name, *verifier)?;
                if let Some(wanted) = wanted {
                    node.set(&wanted.change)?;
                }
                Ok((node, *wanted, None))
            }
            How::Unchecked(wanted) => match system.make(within, name, New::File, &wanted.change) {
                Err(crate::memory::Trouble::Exists) => {
                    // Of a file that exists only the size is set.
                    Ok((within.lookup(name)?, Some(wanted.only_size()), truncation(wanted)))
                }
                made => Ok((made?, Some(*wanted), None)),
            },
        }
    }

    pub(super) fn downgrade(&mut self) -> Done {
        let id = StateId::parse(&mut self.reader)?;
        self.reader.u32()?;
        let (access, deny) = (self.reader.u32()? & !(WISH | SIGNALS), self.reader.u32()?);
        if access & !SHARE != 0 || access == 0 || deny & !SHARE != 0 {
            return Err(Status::INVAL);
        }
        let number = self.state(id, |state| matches!(state.kind, StateKind::Open(_)))?;
        let state = self.server.opens.write().downgrade(number, Share { access, deny })?;
        self.put_state(state);
        Ok(())
    }

    pub(super) fn close(&mut self) -> Done {
        self.reader.u32()?;
        let id = StateId::parse(&mut self.reader)?;
        let number = self.state(id, |state| matches!(state.kind, StateKind::Open(_)))?;
        self.server.opens.write().close(number);
        CLOSED.emit(self.out);
        if let Some(place) = &mut self.current {
            place.state = None;
        }
        Ok(())
    }

    /// A state that changed, which is the current one now.
    pub(super) fn put_state(&mut self, state: StateId) {
        state.emit(self.out);
        if let Some(place) = &mut self.current {
            place.state = Some(state);
        }
    }
}

fn truncation(wanted: &Wanted) -> Option<Change> {
    let change = wanted.only_size().change;
    change.size.map(|_| change)
}

/// `open_delegation4`: none, and why, if the client said what it wants.
fn put_no_delegation(wish: u32, out: &mut Vec<u8>) {
    /// OPEN_DELEGATE_NONE_EXT.
    const WHY: u32 = 3;
    /// WND4_NOT_WANTED, WND4_NOT_SUPP_FTYPE.
    const NOT_WANTED: u32 = 0;
    const NOT_SUPPORTED: u32 = 3;
    match wish {
        0 => out.put_u32(0),
        NO_DELEGATION => [WHY, NOT_WANTED].iter().for_each(|&word| out.put_u32(word)),
        _ => [WHY, NOT_SUPPORTED].iter().for_each(|&word| out.put_u32(word)),
    }
}
