//! LOCK, LOCKT and LOCKU. A lock is granted or denied at once; a client that waits asks again.
//!
//! Spec: RFC 8881 18.10 to 18.12

use plimsoll_wire::nfs::v4::StateId;
use plimsoll_wire::xdr::Emit;

use super::compound::Compound;
use super::limits::LONGEST_OWNER;
use super::opens::{Holder, Kind, READ, WRITE};
use super::ranges::Span;
use super::status::{Done, Status};

impl Compound<'_, '_> {
    /// `nfs_lock_type4`: whether it is a lock for writing.
    fn lock_kind(&mut self) -> Done<bool> {
        match self.reader.u32()? {
            1 | 3 => Ok(false),
            2 | 4 => Ok(true),
            _ => Err(Status::BADXDR),
        }
    }

    pub(super) fn lock(&mut self) -> Done {
        let (exclusive, reclaims) = (self.lock_kind()?, self.reader.boolean()?);
        let (offset, length) = (self.reader.u64()?, self.reader.u64()?);
        let is_new = self.reader.boolean()?;
        let (id, owner) = if is_new {
            self.reader.u32()?;
            let id = StateId::parse(&mut self.reader)?;
            // Sequence ID, and the client's id, which is that of its session.
            self.reader.fixed(12)?;
            (id, Some(self.reader.opaque(LONGEST_OWNER)?))
        } else {
            let id = StateId::parse(&mut self.reader)?;
            self.reader.u32()?;
            (id, None)
        };
        let span = Span::new(offset, length)?;
        let file = self.file()?;
        if reclaims {
            return Err(Status::NO_GRACE);
        }
        let from = self.state(id, |state| matches!(state.kind, Kind::Open(_)) == is_new)?;
        self.may(&file, id, if exclusive { WRITE } else { READ })?;
        let lock = || self.server.opens.write().lock(from, owner, span, exclusive);
        let locked = match lock() {
            Err(Status::DENIED | Status::DELAY) => {
                self.server.expire();
                lock()
            }
            locked => locked,
        };
        match locked {
            Ok(state) => {
                self.put_state(state);
                Ok(())
            }
            Err(Status::DENIED) => {
                let opens = self.server.opens.read();
                let own = match owner {
                    Some(owner) => opens.locks_of(self.client()?.id, owner, file.id()),
                    None => Some(from),
                };
                // It may be gone by now: the client asks again.
                let holder = opens.holder(file.id(), span, exclusive, own).ok_or(Status::DELAY)?;
                drop(opens);
                self.denied(&holder)
            }
            Err(other) => Err(other),
        }
    }

    /// `LOCK4denied`.
    fn denied(&mut self, holder: &Holder) -> Done {
        self.out.put_u64(holder.range.span.first);
        self.out.put_u64(holder.range.span.length());
        self.out.put_u32(1 + u32::from(holder.range.exclusive));
        self.out.put_u64(holder.client);
        self.out.put_opaque(&holder.owner);
        Err(Status::DENIED)
    }

    pub(super) fn test_lock(&mut self) -> Done {
        let exclusive = self.lock_kind()?;
        let (offset, length) = (self.reader.u64()?, self.reader.u64()?);
        self.reader.u64()?;
        let owner = self.reader.opaque(LONGEST_OWNER)?;
        let span = Span::new(offset, length)?;
        let file = self.file()?;
        let opens = self.server.opens.read();
        let own = opens.locks_of(self.client()?.id, owner, file.id());
        let holder = opens.holder(file.id(), span, exclusive, own);
        drop(opens);
        holder.map_or(Ok(()), |holder| self.denied(&holder))
    }

    pub(super) fn unlock(&mut self) -> Done {
        self.lock_kind()?;
        self.reader.u32()?;
        let id = StateId::parse(&mut self.reader)?;
        let span = Span::new(self.reader.u64()?, self.reader.u64()?)?;
        let number = self.state(id, |state| matches!(state.kind, Kind::Locks(_)))?;
        let state = self.server.opens.write().unlock(number, span)?;
        self.put_state(state);
        Ok(())
    }
}
