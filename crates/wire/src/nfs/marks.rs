//! Marks in arguments and results: walks the observer's tables for [`Marks`].
//!
//! Spec: RFC 4506 4

use super::layout::{Field, Layout, Otherwise};
use super::{acl, mount, nlm, v2, v3, v4};
use crate::marks::{Mark, Marks};
use crate::rpc::{Program, is_transient};
use crate::xdr::Cursor;

/// Marks a call's arguments.
pub(crate) fn arguments(program: u32, version: u32, procedure: u32, bytes: &[u8], marks: &mut Marks<'_>) {
    let layout = match (Program::from_wire(program), version) {
        (Some(Program::Nfs), 2) => v2::find(procedure).map(|row| row.arguments),
        (Some(Program::Nfs), 3) => v3::find(procedure).map(|row| row.arguments),
        (Some(Program::Nfs), 4) if procedure == 1 => return v4::mark_arguments(bytes, false, marks),
        (Some(Program::NfsAcl), _) => acl::find(version, procedure).map(|row| row.arguments),
        (Some(Program::Mount), _) => mount::arguments_layout(version, procedure),
        (Some(Program::Nlm), _) => nlm::arguments_layout(version, procedure),
        (None, _) if is_transient(program) && procedure == 1 => return v4::mark_arguments(bytes, true, marks),
        _ => None,
    };
    let _ = layout.and_then(|layout| walk(layout, &mut Cursor::new(bytes), marks));
}

/// Marks a reply's results.
pub(crate) fn results(program: u32, version: u32, procedure: u32, bytes: &[u8], marks: &mut Marks<'_>) {
    let layout = match (Program::from_wire(program), version) {
        (Some(Program::Nfs), 2) => v2::find(procedure).map(|row| row.results),
        (Some(Program::Nfs), 3) => v3::find(procedure).map(|row| row.results),
        (Some(Program::Nfs), 4) if procedure == 1 => return v4::mark_results(bytes, false, marks),
        (Some(Program::NfsAcl), _) => acl::find(version, procedure).map(|row| row.results),
        (Some(Program::Mount), _) => mount::results_layout(version, procedure),
        (Some(Program::Nlm), _) => {
            let layout = nlm::results_layout(version, procedure);
            let _ = layout.and_then(|layout| walk(layout, &mut Cursor::new(bytes), marks));
            return;
        }
        (None, _) if is_transient(program) && procedure == 1 => return v4::mark_results(bytes, true, marks),
        _ => None,
    };
    let Some(layout) = layout else { return };
    let mut cursor = Cursor::new(bytes);
    if number(&mut cursor, marks) == Some(0) {
        let _ = walk(layout, &mut cursor, marks);
    }
}

/// Marks the fields of a layout, as [`super::layout::walk`] reads them.
pub(super) fn walk(layout: Layout, cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<()> {
    for field in layout {
        match *field {
            Field::Skip(bytes) => cursor.skip(bytes)?,
            Field::Opaque | Field::Payload => opaque(cursor, None, marks)?,
            Field::Segments => segments(cursor, marks)?,
            Field::Bitmap => bitmap(cursor, marks).map(|_| ())?,
            Field::Handle | Field::ToHandle => opaque(cursor, Some(Mark::Id), marks)?,
            Field::Handle32 | Field::ToHandle32 => take(cursor, 32, Mark::Id, marks)?,
            Field::Name | Field::ToName => opaque(cursor, Some(Mark::Narrow), marks)?,
            Field::Offset | Field::Count64 | Field::Size => take(cursor, 8, Mark::Number, marks)?,
            Field::Offset32 | Field::Count | Field::Stable | Field::Lock | Field::NewSize32 | Field::Access => {
                take(cursor, 4, Mark::Number, marks)?;
            }
            Field::GrantedSlots => take(cursor, 4, Mark::Number, marks)?,
            Field::Slot => take(cursor, 24, Mark::Number, marks)?,
            Field::Creating(arms) => choice(arms, Otherwise::Unknown, cursor, marks)?,
            Field::Opening(inner) => {
                if number(cursor, marks)? == 1 {
                    walk(inner, cursor, marks)?;
                }
            }
            Field::NewAttributes => new_attributes(cursor, marks)?,
            Field::Optional(inner) => {
                if boolean(cursor, marks)? {
                    walk(inner, cursor, marks)?;
                }
            }
            Field::List(inner) => {
                for _ in 0..number(cursor, marks)? {
                    walk(inner, cursor, marks)?;
                }
            }
            Field::Chain(inner) => {
                while boolean(cursor, marks)? {
                    walk(inner, cursor, marks)?;
                }
            }
            Field::TargetSlot => take(cursor, 4, Mark::Number, marks)?,
            Field::Session | Field::Delegation => take(cursor, 16, Mark::Number, marks)?,
            Field::Delegating(arms) => choice(arms, Otherwise::Unknown, cursor, marks)?,
            Field::Choice(arms, otherwise) => choice(arms, otherwise, cursor, marks)?,
        }
    }
    Some(())
}

/// A number, which is marked.
pub(crate) fn number(cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<u32> {
    let bytes = cursor.take(4)?;
    marks.part(bytes, Mark::Number);
    bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

fn boolean(cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<bool> {
    match number(cursor, marks)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn take(cursor: &mut Cursor<'_>, length: usize, mark: Mark, marks: &mut Marks<'_>) -> Option<()> {
    let bytes = cursor.take(length)?;
    marks.part(bytes, mark);
    Some(())
}

/// A length, and that many bytes, which have a mark or none.
pub(crate) fn opaque(cursor: &mut Cursor<'_>, mark: Option<Mark>, marks: &mut Marks<'_>) -> Option<()> {
    let mut ahead = *cursor;
    // Marked also where what follows was not captured.
    number(&mut ahead, marks);
    let bytes = cursor.opaque()?;
    if let Some(mark) = mark {
        marks.part(bytes, mark);
    }
    Some(())
}

/// Data and holes of a READ_PLUS: kinds and lengths of data are marked.
fn segments(cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<()> {
    for _ in 0..number(cursor, marks)? {
        let kind = number(cursor, marks)?;
        cursor.skip(8)?;
        match kind {
            0 => opaque(cursor, None, marks)?,
            1 => cursor.skip(8)?,
            _ => return None,
        }
    }
    Some(())
}

/// A count and that many words; gives the first.
fn bitmap(cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<u32> {
    let words = number(cursor, marks)? as usize;
    let bytes = cursor.take(words.saturating_mul(4))?;
    marks.part(bytes, Mark::Number);
    Some(bytes.first_chunk().map_or(0, |first| u32::from_be_bytes(*first)))
}

/// Attributes that a file gets, of which the size is marked where it comes first.
fn new_attributes(cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<()> {
    const BEFORE_SIZE: u32 = 0x0F;
    const SIZE: u32 = 0x10;
    let first = bitmap(cursor, marks)?;
    let mut ahead = *cursor;
    number(&mut ahead, marks);
    let values = cursor.opaque()?;
    if first & (BEFORE_SIZE | SIZE) == SIZE {
        marks.part(values.get(..8).unwrap_or_default(), Mark::Number);
    }
    Some(())
}

fn choice(arms: &[(u32, Layout)], otherwise: Otherwise, cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<()> {
    let chosen = number(cursor, marks)?;
    match (arms.iter().find(|(value, _)| *value == chosen), otherwise) {
        (Some((_, inner)), _) => walk(inner, cursor, marks),
        (None, Otherwise::Nothing) => Some(()),
        (None, Otherwise::Then(inner)) => walk(inner, cursor, marks),
        (None, Otherwise::Unknown) => None,
    }
}
