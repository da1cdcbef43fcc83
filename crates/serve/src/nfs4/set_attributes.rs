//! Attributes that a client wants to set, and SETATTR.
//!
//! Spec: RFC 8881 5, RFC 8881 18.30

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_wire::nfs::v4::StateId;
use plimsoll_wire::xdr::Strict;

use super::attributes::{Mask, SETTABLE, numbers, put_mask, read_mask};
use super::compound::Compound;
use super::opens::WRITE;
use super::status::{Done, Status};
use crate::memory::{Change, Kind, Set};

/// Bytes of the attributes of one object, at most.
const LONGEST: usize = 64 << 10;
/// The bit of the size in the first word.
const SIZE: u32 = 1 << 4;
/// SET_TO_CLIENT_TIME4.
const CLIENT_TIME: u32 = 1;

/// Attributes to set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    mask: Mask,
    pub(super) change: Change,
}

impl Wanted {
    /// Reads `fattr4`. Attributes that cannot be set are refused.
    pub(super) fn parse(reader: &mut Strict<'_>) -> Done<Self> {
        let (mask, unknown) = read_mask(reader)?;
        let mut values = Strict::new(reader.opaque(LONGEST)?);
        let mut change = Change::default();
        if unknown {
            return Err(Status::ATTRNOTSUPP);
        }
        for number in numbers(mask) {
            match number {
                4 => change.size = Some(values.u64()?),
                33 => change.mode = Some(values.u32()?),
                36 => change.uid = Some(id(values.opaque(LONGEST)?)?),
                37 => change.gid = Some(id(values.opaque(LONGEST)?)?),
                48 => change.accessed = Some(time(&mut values)?),
                54 => change.modified = Some(time(&mut values)?),
                // Attributes that exist, but can only be read, or not at all.
                0..=11 | 13 | 15..=23 | 26..=35 | 41..=45 | 47 | 51..=53 | 55 | 75 => return Err(Status::INVAL),
                _ => return Err(Status::ATTRNOTSUPP),
            }
        }
        values.end()?;
        if change.mode.is_some_and(|mode| mode > 0o7777) || change.size.is_some_and(|size| size > i64::MAX as u64) {
            return Err(Status::INVAL);
        }
        debug_assert!(mask.iter().zip(SETTABLE).all(|(word, settable)| word & !settable == 0));
        Ok(Self { mask, change })
    }

    /// The same but the size.
    pub(super) fn without_size(mut self) -> Self {
        self.mask[0] &= !SIZE;
        self.change.size = None;
        self
    }

    /// Only the size.
    pub(super) fn only_size(self) -> Self {
        let mask = [self.mask[0] & SIZE, 0, 0];
        Self { mask, change: Change { size: self.change.size, ..Change::default() } }
    }

    /// Which attributes were set.
    pub(super) fn put_mask(&self, out: &mut Vec<u8>) {
        put_mask(self.mask, out);
    }
}

/// An owner or a group: only numbers are known here (RFC 8881 5.9).
fn id(name: &[u8]) -> Done<u32> {
    let digits = std::str::from_utf8(name).map_err(|_| Status::INVAL)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain).ok_or(Status::BADOWNER)
}

/// `settime4`.
fn time(reader: &mut Strict<'_>) -> Done<Set> {
    match reader.u32()? {
        0 => Ok(Set::Now),
        CLIENT_TIME => {
            let (seconds, nanoseconds) = (reader.u64()?.cast_signed(), reader.u32()?);
            if nanoseconds >= 1_000_000_000 {
                return Err(Status::INVAL);
            }
            let whole = Duration::from_secs(seconds.unsigned_abs());
            let at = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
            let at = at.and_then(|at: SystemTime| at.checked_add(Duration::from_nanos(nanoseconds.into())));
            at.map(Set::To).ok_or(Status::INVAL)
        }
        _ => Err(Status::BADXDR),
    }
}

impl Compound<'_, '_> {
    pub(super) fn set_attributes(&mut self) -> Done {
        let state = StateId::parse(&mut self.reader)?;
        let wanted = Wanted::parse(&mut self.reader)?;
        let node = Arc::clone(self.current()?);
        self.server.may_change(&node)?;
        if wanted.change.size.is_some() {
            match node.kind() {
                Kind::File => self.may(&node, state, WRITE)?,
                Kind::Directory => return Err(Status::ISDIR),
                Kind::Link => return Err(Status::INVAL),
            }
        }
        self.recall(&node)?;
        node.set(&wanted.change)?;
        wanted.put_mask(self.out);
        Ok(())
    }
}
