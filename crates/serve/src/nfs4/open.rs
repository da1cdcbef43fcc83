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
use super::opens::{Kind as StateKind, READ, Refusal, Share, WRITE};
use super::set_attributes::Wanted;
use super::status::{Done, Status};
use crate::memory::{Change, Kind, New, Node};

/// Access and denial: read, write, both.
const SHARE: u32 = 3;
/// The wish for a delegation, and bits beside it that a client may set.
const WISH: u32 = 0xFF00;
const SIGNALS: u32 = 0x3_0000;
/// OPEN4_SHARE_ACCESS_WANT_READ_DELEG, OPEN4_SHARE_ACCESS_WANT_ANY_DELEG.
const READ_DELEGATION: u32 = 0x0100;
const ANY_DELEGATION: u32 = 0x0300;
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
    /// The delegation under which the client has it open already.
    delegation: Option<StateId>,
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
        let mut delegation = None;
        let mut delegated = |reader: &mut Strict<'a>| -> Done {
            delegation = Some(StateId::parse(reader)?);
            Ok(())
        };
        let claim = match reader.u32()? {
            0 => Claim::Name(name(reader)?),
            // Nothing survives a restart of the server.
            1 => return Err(Status::NO_GRACE),
            2 => {
                delegated(reader)?;
                Claim::Name(name(reader)?)
            }
            3 | 6 => return Err(Status::NOTSUPP),
            4 => Claim::Current,
            5 => {
                delegated(reader)?;
                Claim::Current
            }
            _ => return Err(Status::BADXDR),
        };
        if access & !(SHARE | WISH | SIGNALS) != 0 || access & SHARE == 0 || deny & !SHARE != 0 {
            return Err(Status::INVAL);
        }
        let share = Share { access: access & SHARE, deny };
        Ok(Self { share, wish: access & WISH, owner, how, claim, delegation })
    }
}

impl Opening<'_> {
    /// Whether it may change the size of a file that exists.
    fn empties(&self) -> bool {
        matches!(&self.how, How::Unchecked(wanted) if wanted.change.size.is_some())
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
        if let Some(id) = opening.delegation {
            self.holds(&node, id)?;
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
        self.put_delegation(&node, &opening)?;
        self.current = Some(Place { node, state: Some(state) });
        Ok(())
    }

    /// Opens; clients whose lease has expired do not stand in the way.
    fn admit(&self, node: &Arc<Node>, opening: &Opening<'_>) -> Done<StateId> {
        let client = self.client()?;
        if opening.share.access & WRITE != 0 || opening.share.deny & READ != 0 || opening.empties() {
            self.recall(node)?;
        }
        let open = || self.server.opens.write().open(client, opening.owner, node, opening.share);
        match open() {
            Err(Status::SHARE_DENIED | Status::DELAY) => {
                self.server.expire();
                open()
            }
            opened => opened,
        }
    }

    /// Whether the client has this delegation of the file.
    fn holds(&self, node: &Node, id: StateId) -> Done {
        let id = self.meant(id)?;
        let opens = self.server.opens.read();
        let (_, state) = opens.find(self.client()?.id, id)?;
        let is = matches!(state.kind, StateKind::Delegation(_)) && state.node.id() == node.id();
        match is {
            true if state.is_revoked() => Err(Status::DELEG_REVOKED),
            true => Ok(()),
            false => Err(Status::BAD_STATEID),
        }
    }

    /// Grants a read delegation of a file that is only read, if the client asks for one and can be called.
    fn put_delegation(&mut self, node: &Arc<Node>, opening: &Opening<'_>) -> Done {
        let wants = [READ_DELEGATION, ANY_DELEGATION].contains(&opening.wish) && opening.share.access == READ;
        if !wants || opening.delegation.is_some() {
            put_no_delegation(opening.wish, None, self.out);
            return Ok(());
        }
        let is_up = self.session.as_ref().is_some_and(|session| session.back.lock().is_up());
        let granted = match is_up {
            true => self.server.opens.write().delegate(self.client()?, node, self.server.now()),
            false => Err(Refusal::Resource),
        };
        match granted {
            Ok(state) => put_read_delegation(state, self.out),
            Err(refusal) => put_no_delegation(opening.wish, Some(refusal), self.out),
        }
        Ok(())
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

/// `open_read_delegation4`.
fn put_read_delegation(state: StateId, out: &mut Vec<u8>) {
    /// OPEN_DELEGATE_READ.
    const READ: u32 = 1;
    out.put_u32(READ);
    state.emit(out);
    // It is not recalled yet; an empty nfsace4: no user is named.
    [0; 5].iter().for_each(|&word| out.put_u32(word));
}

fn truncation(wanted: &Wanted) -> Option<Change> {
    let change = wanted.only_size().change;
    change.size.map(|_| change)
}

/// `open_delegation4`: none, and why, if the client said what it wants.
fn put_no_delegation(wish: u32, refusal: Option<Refusal>, out: &mut Vec<u8>) {
    /// OPEN_DELEGATE_NONE_EXT.
    const WHY: u32 = 3;
    /// WND4_NOT_WANTED, WND4_NOT_SUPP_FTYPE.
    const NOT_WANTED: u32 = 0;
    const NOT_SUPPORTED: u32 = 3;
    match (wish, refusal) {
        (0, _) => out.put_u32(0),
        (NO_DELEGATION, _) => [WHY, NOT_WANTED].iter().for_each(|&word| out.put_u32(word)),
        // The server will not say when there is one.
        (_, Some(refusal)) => [WHY, refusal as u32, 0].iter().for_each(|&word| out.put_u32(word)),
        (_, None) => [WHY, NOT_SUPPORTED].iter().for_each(|&word| out.put_u32(word)),
    }
}
