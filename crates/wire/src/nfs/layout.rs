//! The items of layout tables, and the walk that reads bytes by such a table.
//!
//! Spec: RFC 4506 4

use super::facts::{Creates, Facts, Lock, Slot};
use crate::xdr::Cursor;

/// The longest file handle of any version (NFS4_FHSIZE).
const MAX_HANDLE: usize = 128;
/// Bytes of a session id (NFS4_SESSIONID_SIZE).
const SESSION_ID: usize = 16;
/// Bytes of a state ID (`stateid4`).
const STATE_ID: usize = 16;

/// A sequence of items.
pub(crate) type Layout = &'static [Field];

/// One item of a layout.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    /// Bytes of no interest.
    Skip(usize),
    /// `opaque<>` or `string<>` of no interest.
    Opaque,
    /// `bitmap4` of no interest: a count and that many words.
    Bitmap,
    /// A file handle of variable length.
    Handle,
    /// The second handle.
    ToHandle,
    /// A file handle of fixed length (NFS 2, MOUNT 1 and 2).
    Handle32,
    /// The second one.
    ToHandle32,
    /// A name or path.
    Name,
    /// The second one.
    ToName,
    /// A 64-bit offset.
    Offset,
    /// A 32-bit offset.
    Offset32,
    /// A 32-bit count.
    Count,
    /// A 64-bit count.
    Count64,
    /// `stable_how`.
    Stable,
    /// `nfs_lock_type4`.
    Lock,
    /// Session id, sequence and slot.
    Slot,
    /// The highest slot that the server wants to be used.
    TargetSlot,
    /// The ID of a session that is created, or that a connection is bound to.
    Session,
    /// Number of slots of a new session.
    GrantedSlots,
    /// The state ID of a delegation.
    Delegation,
    /// `open_delegation_type4`, and what follows each.
    Delegating(&'static [(u32, Layout)]),
    /// `createmode`, and what follows each.
    Creating(&'static [(u32, Layout)]),
    /// `opentype4`, and what follows OPEN4_CREATE.
    Opening(Layout),
    /// A 64-bit size that a file gets.
    Size,
    /// The same in a CREATE of NFS 2, which accepts an existing file: 32 bits; all ones keep its size.
    NewSize32,
    /// `fattr4` that a file gets, of which the size is wanted.
    NewAttributes,
    /// `share_access`.
    Access,
    /// File data: only its length is wanted.
    Payload,
    /// `read_plus_content<>`: file data and holes. The length of all data is wanted, or none.
    Segments,
    /// A boolean (or a pointer's) and, if true, the layout.
    Optional(Layout),
    /// A count and that many times the layout, which is never empty.
    List(Layout),
    /// A linked list: the layout after each true boolean, ending with a false one.
    Chain(Layout),
    /// A number that selects a layout, and the layout for all other numbers.
    Choice(&'static [(u32, Layout)], Otherwise),
}

/// What follows a discriminant that is not in the list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Otherwise {
    /// Nothing follows: `default: void`.
    Nothing,
    /// `default:` with something.
    Then(Layout),
    /// No such value is defined: what follows is not known.
    Unknown,
}

/// Reads `layout`, noting the facts. `None` when it could not be read to its end: [`Cursor::ran_out`] tells whether the
/// captured bytes ended or do not fit. Facts found before that stay.
///
/// Terminates: layouts nest to a fixed depth, and every repetition reads at least one word of `cursor`.
pub(crate) fn walk<'a>(layout: Layout, cursor: &mut Cursor<'a>, facts: &mut Facts<'a>) -> Option<()> {
    for field in layout {
        match *field {
            Field::Skip(bytes) => cursor.skip(bytes)?,
            Field::Opaque => cursor.opaque().map(|_| ())?,
            Field::Bitmap => {
                let words = cursor.u32()? as usize;
                cursor.skip(words.saturating_mul(4))?;
            }
            Field::Handle => facts.handle = Some(cursor.opaque_up_to(MAX_HANDLE)?),
            Field::ToHandle => facts.to_handle = Some(cursor.opaque_up_to(MAX_HANDLE)?),
            Field::Handle32 => facts.handle = Some(cursor.take(32)?),
            Field::ToHandle32 => facts.to_handle = Some(cursor.take(32)?),
            Field::Name => facts.name = Some(cursor.opaque()?),
            Field::ToName => facts.to_name = Some(cursor.opaque()?),
            Field::Offset => facts.offset = Some(cursor.u64()?),
            Field::Offset32 => facts.offset = Some(u64::from(cursor.u32()?)),
            Field::Count => facts.count = Some(u64::from(cursor.u32()?)),
            Field::Count64 => facts.count = Some(cursor.u64()?),
            Field::Stable => facts.stable = Some(cursor.u32()?),
            Field::Lock => facts.lock = Some(Lock { kind: cursor.u32()? }),
            Field::Slot => {
                let session = cursor.take(SESSION_ID)?;
                facts.slot = Some(Slot { session, sequence: cursor.u32()?, slot: cursor.u32()? });
            }
            Field::TargetSlot => facts.target_slot = Some(cursor.u32()?),
            Field::Session => facts.session = Some(cursor.take(SESSION_ID)?),
            Field::GrantedSlots => facts.granted_slots = Some(cursor.u32()?),
            Field::Delegation => facts.delegation = Some(cursor.take(STATE_ID)?),
            Field::Delegating(arms) => {
                let mut ahead = *cursor;
                facts.delegation_kind = ahead.u32();
                choice(arms, Otherwise::Unknown, cursor, facts)?;
            }
            Field::Payload => payload(cursor, facts)?,
            Field::Segments => segments(cursor, facts)?,
            Field::Creating(arms) => creating(arms, cursor, facts)?,
            Field::Opening(inner) => opening(inner, cursor, facts)?,
            Field::Size => facts.size = Some(cursor.u64()?),
            Field::NewSize32 => {
                facts.size = Some(cursor.u32()?).filter(|size| *size != u32::MAX).map(u64::from);
                facts.creates = Some(Creates::Unchecked);
            }
            Field::NewAttributes => new_attributes(cursor, facts)?,
            Field::Access => facts.access = Some(cursor.u32()?),
            Field::Optional(inner) => {
                if cursor.boolean()? {
                    walk(inner, cursor, facts)?;
                }
            }
            Field::List(inner) => {
                for _ in 0..cursor.u32()? {
                    walk(inner, cursor, facts)?;
                }
            }
            Field::Chain(inner) => {
                while cursor.boolean()? {
                    walk(inner, cursor, facts)?;
                }
            }
            Field::Choice(arms, otherwise) => choice(arms, otherwise, cursor, facts)?,
        }
    }
    Some(())
}

#[inline]
fn payload<'a>(cursor: &mut Cursor<'a>, facts: &mut Facts<'a>) -> Option<()> {
    let mut ahead = *cursor;
    facts.payload = ahead.u32();
    cursor.opaque().map(|_| ())
}

/// A part of the data would be taken for all of it, so the length is noted when that of the last segment is known.
#[cold]
fn segments<'a>(cursor: &mut Cursor<'a>, facts: &mut Facts<'a>) -> Option<()> {
    let (count, mut sum) = (cursor.u32()?, 0_u32);
    for left in (0..count).rev() {
        let kind = cursor.u32()?;
        cursor.skip(8)?;
        let mut ahead = *cursor;
        match kind {
            0 => sum = sum.saturating_add(ahead.u32()?),
            1 => ahead.skip(8)?,
            _ => return None,
        }
        if left == 0 {
            facts.payload = Some(sum);
        }
        match kind {
            0 => cursor.opaque().map(|_| ())?,
            _ => *cursor = ahead,
        }
    }
    if count == 0 {
        facts.payload = Some(0);
    }
    Some(())
}

fn creating<'a>(arms: &[(u32, Layout)], cursor: &mut Cursor<'a>, facts: &mut Facts<'a>) -> Option<()> {
    let mode = cursor.u32()?;
    let (_, inner) = arms.iter().find(|(known, _)| *known == mode)?;
    // The kind of object depends on the following fields.
    walk(inner, cursor, facts)?;
    facts.creates = Some(Creates::of_mode(mode));
    Some(())
}

fn opening<'a>(create: Layout, cursor: &mut Cursor<'a>, facts: &mut Facts<'a>) -> Option<()> {
    if cursor.u32()? == 1 {
        return walk(create, cursor, facts);
    }
    facts.creates = Some(Creates::Nothing);
    Some(())
}

/// Values stand in the order of their bits, and those that can be set begin with the size (RFC 8881 5.6, 5.7).
fn new_attributes<'a>(cursor: &mut Cursor<'a>, facts: &mut Facts<'a>) -> Option<()> {
    /// Of the first word: supported_attrs, type, fh_expire_type, change; then size.
    const BEFORE_SIZE: u32 = 0x0F;
    const SIZE: u32 = 0x10;
    let words = cursor.u32()? as usize;
    let first = if words > 0 { cursor.u32()? } else { 0 };
    cursor.skip(words.saturating_sub(1).saturating_mul(4))?;
    let values = cursor.opaque()?;
    if first & (BEFORE_SIZE | SIZE) == SIZE {
        facts.size = values.first_chunk().copied().map(u64::from_be_bytes);
    }
    Some(())
}

fn choice<'a>(
    arms: &[(u32, Layout)],
    otherwise: Otherwise,
    cursor: &mut Cursor<'a>,
    facts: &mut Facts<'a>,
) -> Option<()> {
    let chosen = cursor.u32()?;
    match (arms.iter().find(|(value, _)| *value == chosen), otherwise) {
        (Some((_, inner)), _) => walk(inner, cursor, facts),
        (None, Otherwise::Nothing) => Some(()),
        (None, Otherwise::Then(inner)) => walk(inner, cursor, facts),
        (None, Otherwise::Unknown) => None,
    }
}

/// A row of a table: a procedure or operation, its arguments, and its results after the status when that is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) arguments: Layout,
    /// Results after a status of 0.
    pub(crate) results: Layout,
}

/// A row, kept to one line in the tables. The name is for their readers.
pub(crate) const fn row(_name: &'static str, arguments: Layout, results: Layout) -> Row {
    Row { arguments, results }
}

/// The facts of arguments that have this layout.
#[inline]
pub(crate) fn facts_of<'a>(layout: Layout, bytes: &'a [u8]) -> Facts<'a> {
    let mut facts = Facts::default();
    note(layout, bytes, &mut facts);
    facts
}

/// The same, written where the caller wants them: for the busiest tables, as a copy would cost as much as the walk.
#[inline]
pub(crate) fn note<'a>(layout: Layout, bytes: &'a [u8], facts: &mut Facts<'a>) {
    // The end of the walk does not matter: found facts are complete, missing ones are None.
    let _ = walk(layout, &mut Cursor::new(bytes), facts);
}

/// The facts of results: a status, followed by this layout if the status is 0.
#[inline]
pub(crate) fn facts_of_results<'a>(layout: Layout, bytes: &'a [u8]) -> Facts<'a> {
    let mut facts = Facts::default();
    note_results(layout, bytes, &mut facts);
    facts
}

/// The same, written where the caller wants them.
#[inline]
pub(crate) fn note_results<'a>(layout: Layout, bytes: &'a [u8], facts: &mut Facts<'a>) {
    let mut cursor = Cursor::new(bytes);
    facts.status = cursor.u32();
    if facts.status == Some(0) && !layout.is_empty() {
        let _ = walk(layout, &mut cursor, facts);
    }
}
